import { isJsonType, parseJson } from '../http/body.ts';
import { BoxError } from '../errors.ts';
import { createYielder } from '../yielder.ts';
import { toNewDelivery } from './arrival.ts';
import type { NewDelivery } from './delivery-rows.ts';
import type { TriggerLimits } from './limits.ts';
import type { Poll } from './poll-settings.ts';
import { toScope } from './start.ts';
import type { StoredTrigger } from './store.ts';
import { find, lookUp } from './template.ts';

export interface PollAnswer {
  trigger: StoredTrigger;
  poll: Poll;
  body: Buffer;
  contentType: string | null;
}

export interface ReadOptions {
  limits: Pick<TriggerLimits, 'pollItems'>;
  newDeliveryId(): string;
}

/** The items in the answer, each once, as deliveries. Throws `trigger_invalid` and `invalid_json` where there are none to read. */
export async function readItems(
  { trigger, poll, body, contentType }: PollAnswer,
  { limits, newDeliveryId }: ReadOptions,
): Promise<NewDelivery[]> {
  const items = await findItems({ trigger, poll, body, contentType });
  if (items.length > limits.pollItems)
    throw new BoxError(
      'trigger_invalid',
      `The answer has ${items.length} items, and at most ${limits.pollItems} are looked at. Ask for fewer in "url".`,
    );
  const { yieldIfDue } = createYielder(5);
  const known = new Map<string, NewDelivery>();
  for (const item of items) {
    const delivery = toNewDelivery({
      id: newDeliveryId(),
      trigger,
      kept: { headers: {}, query: {}, body: item },
      content: Buffer.from(JSON.stringify(item)),
      sameForMs: null,
      idOf: () => lookUp(item, ['id']),
    });
    if (delivery.same && !known.has(delivery.same.key)) known.set(delivery.same.key, delivery);
    await yieldIfDue();
  }
  return [...known.values()];
}

// --- internal ---

async function findItems({ trigger, poll, body, contentType }: PollAnswer): Promise<unknown[]> {
  const isJson = isJsonType(contentType) || /^\s*[[{]/.test(body.subarray(0, 100).toString('latin1'));
  if (!isJson) throw new BoxError('trigger_invalid', 'The service answered something that is not JSON.');
  const { items: place = 'body' } = poll;
  const none = { id: '', event: null, receivedAt: new Date() };
  const scope = toScope(trigger, none, { headers: {}, query: {}, body: await parseJson(body) });
  const items = find(place, scope);
  if (Array.isArray(items)) return items as unknown[];
  const what =
    items === undefined ? 'nothing' : items === null ? 'null' : `no list, but a value of type ${typeof items}`;
  throw new BoxError(
    'trigger_invalid',
    `In the answer there is ${what} at "${place}". "items" says where the list is.`,
  );
}
