import { createGuesses } from '../auth/guesses.ts';
import { BoxError } from '../errors.ts';
import { readBody } from '../http/body.ts';
import type { Mask } from '../mask.ts';
import type { CountingKv } from '../stores/kv-counting.ts';
import { toNewDelivery } from './arrival.ts';
import type { DeliveryRows } from './delivery-rows.ts';
import { queueFull } from './limits.ts';
import type { TriggerLimits } from './limits.ts';
import { toBody, toHeaders, toQuery } from './request.ts';
import type { InboundRequest } from './request.ts';
import { SCHEMES } from './schemes.ts';
import { WINDOW_SECONDS } from './signature.ts';
import type { Signature } from './signature.ts';
import type { StoredTrigger } from './store.ts';
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
    // What asks for itself is called by no one.
    if (!found?.trigger.enabled || !found.trigger.settings.signature) return undefined;
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
    const { headers } = request;
    const delivery = toNewDelivery({
      id: newDeliveryId(),
      trigger,
      kept,
      content: body,
      sameForMs: (signature.windowSeconds ?? WINDOW_SECONDS) * 1_000,
      eventOf: () => scheme.eventOf?.(headers, value),
      idOf: () => scheme.idOf?.(headers, value),
    });
    const stored = await add(delivery);
    if (stored.outcome === 'stored') return { deliveryId: stored.id, state: delivery.state };
    if (stored.outcome === 'repeated') return { deliveryId: stored.id, state: 'repeated' };
    if (stored.outcome === 'gone') throw invalidSignature();
    throw queueFull(limits);
  };
}

export const TRIGGER_ID = /^trg_[\w-]{22}$/;

// --- internal ---

const MINUTE_MS = 60_000;
/** What is looked at in place of a trigger that there is not. */
const NONE: Signature = { scheme: 'github' };

function invalidSignature(): BoxError {
  return new BoxError('invalid_signature', 'The request is not signed as this address wants it.');
}
