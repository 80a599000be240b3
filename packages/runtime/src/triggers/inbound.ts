import { createHash } from 'node:crypto';
import { createGuesses } from '../auth/guesses.ts';
import { BoxError } from '../errors.ts';
import { readBody } from '../http/body.ts';
import type { Mask } from '../mask.ts';
import { explainText } from '../operations/inputs.ts';
import type { CountingKv } from '../stores/kv-counting.ts';
import type { DeliveryRows, NewDelivery } from './delivery-rows.ts';
import { isWanted } from './filter.ts';
import type { TriggerLimits } from './limits.ts';
import { toBody, toHeaders, toQuery } from './request.ts';
import type { InboundRequest } from './request.ts';
import { SCHEMES } from './schemes.ts';
import { WINDOW_SECONDS } from './signature.ts';
import type { Signature } from './signature.ts';
import { toScope } from './start.ts';
import type { StoredTrigger } from './store.ts';
import { find } from './template.ts';
import type { ListedTrigger } from './trigger-rows.ts';

/** What a sender is answered, with 200: some take no other status for a yes. */
export type Received =
  | { deliveryId: string; state: 'pending' | 'filtered' | 'repeated' }
  /** What it asks for before it sends anything. */
  | { greeting: object };

export interface InboundOptions {
  find(id: string): Promise<ListedTrigger | undefined>;
  readSecrets(id: string): Promise<string[]>;
  add: DeliveryRows['add'];
  kv: Pick<CountingKv, 'increment'>;
  mask: Pick<Mask, 'addPassing'>;
  limits: TriggerLimits;
  /** The address of the box. */
  url(): string;
  newDeliveryId(): string;
}

/**
 * Takes a request in: its signature, then what it is, then the store. Throws `invalid_signature` for every request that is not
 * let in, whatever is wrong with it, also for a trigger that there is not.
 */
export function createInbound(options: InboundOptions) {
  const { readSecrets, add, kv, mask, limits, url, newDeliveryId } = options;
  const guesses = createGuesses({
    // Whoever signs wrong here has not guessed at tokens.
    kv: { increment: (key, ms) => kv.increment(`inbound:${key}`, ms) },
    most: limits.wrongPerMinute,
  });

  const open = async (id: string): Promise<{ trigger: StoredTrigger; secrets: string[] } | undefined> => {
    const found = TRIGGER_ID.test(id) ? await options.find(id) : undefined;
    if (!found?.trigger.enabled) return undefined;
    const secrets = await readSecrets(id);
    secrets.forEach((secret) => mask.addPassing(secret));
    return { trigger: found.trigger, secrets };
  };
  const requireRate = async (id: string): Promise<void> => {
    const count = await kv.increment(`inbound:${id}`, MINUTE_MS);
    if (count <= limits.perMinute) return;
    const message = `This trigger takes ${limits.perMinute} requests a minute. Send it again later.`;
    throw new BoxError('rate_limited', message, { details: { retryAfter: 60, of: 'trigger' } });
  };

  return async (id: string, request: Request, address: string): Promise<Received> => {
    const body = await readBody(request, limits.bodyBytes);
    const found = await open(id);
    const { pathname, search, searchParams } = new URL(request.url);
    const signed = { headers: request.headers, body, url: url() + pathname + search };
    const signature = found?.trigger.settings.signature ?? NONE;
    const scheme = SCHEMES[signature.scheme];
    const now = Date.now() / 1_000;
    // One there is not takes as long.
    const secrets = found && found.secrets.length > 0 ? found.secrets : [''];
    const isGood = secrets.filter((secret) => scheme.isGood(signed, { secret, signature, now })).length > 0;
    if (!found || found.secrets.length === 0 || !isGood) {
      await guesses.wrong(address);
      throw invalidSignature();
    }
    const { trigger } = found;
    await requireRate(trigger.id);
    const value = await toBody(body, request.headers.get('content-type'));
    const greeting = scheme.greet?.(value);
    if (greeting) return { greeting };
    const kept: InboundRequest = {
      headers: toHeaders(request.headers, scheme.credentials(signature)),
      query: toQuery(searchParams),
      body: value,
    };
    const delivery = toDelivery({ id: newDeliveryId(), trigger, kept, body, headers: request.headers });
    const stored = await add(delivery);
    if (stored.outcome === 'stored') return { deliveryId: stored.id, state: delivery.state };
    if (stored.outcome === 'repeated') return { deliveryId: stored.id, state: 'repeated' };
    if (stored.outcome === 'gone') throw invalidSignature();
    throw new BoxError(
      'trigger_queue_full',
      `${limits.mostPending} deliveries of this trigger wait for their runs. Send it again later.`,
    );
  };
}

export const TRIGGER_ID = /^trg_[\w-]{22}$/;

// --- internal ---

const MINUTE_MS = 60_000;
/** What is looked at in place of a trigger that there is not. */
const NONE: Signature = { scheme: 'github' };
const MOST_ID = 200;

function invalidSignature(): BoxError {
  return new BoxError('invalid_signature', 'The request is not signed as this address wants it.');
}

interface Came {
  id: string;
  trigger: StoredTrigger;
  kept: InboundRequest;
  body: Buffer;
  headers: Headers;
}

function toDelivery({ id, trigger, kept, body, headers }: Came): NewDelivery {
  const { settings } = trigger;
  const { signature, deduplicate } = settings;
  const scheme = SCHEMES[signature.scheme];
  const unnamed = toScope(trigger, { id, event: null, receivedAt: new Date() }, kept);
  const event = toWord(settings.event === null ? scheme.eventOf?.(headers, kept.body) : find(settings.event, unnamed));
  const scope = { ...unnamed, event };
  const said = deduplicate === null ? scheme.idOf?.(headers, kept.body) : find(deduplicate, scope);
  const senderId = toWord(said);
  const windowMs = (signature.windowSeconds ?? WINDOW_SECONDS) * 1_000;
  const isFor = isWanted(settings, scope);
  return {
    id,
    triggerId: trigger.id,
    state: isFor ? 'pending' : 'filtered',
    event,
    senderId,
    same:
      senderId === null
        ? { key: `body ${hash(body)}`, forMs: windowMs }
        : { key: `id ${hash(Buffer.from(String(said)))}`, forMs: null },
    request: isFor ? kept : null,
    bytes: body.length,
  };
}

/** As a list shows it. */
function toWord(value: unknown): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value).slice(0, MOST_ID).toWellFormed();
  return text === '' || explainText(text) !== undefined ? null : text;
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
