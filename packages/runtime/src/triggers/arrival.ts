import { createHash } from 'node:crypto';
import { explainText } from '../operations/inputs.ts';
import type { NewDelivery } from './delivery-rows.ts';
import { isWanted } from './filter.ts';
import type { InboundRequest } from './request.ts';
import { toScope } from './start.ts';
import type { StoredTrigger } from './store.ts';
import { find } from './template.ts';

/** Something that has come, from a sender or in the answer of a poll. */
export interface Arrival {
  id: string;
  trigger: StoredTrigger;
  kept: InboundRequest;
  /** As it came: by which it is known where it has no id. */
  content: Buffer;
  /** For how many milliseconds it is; null: for as long as it is kept. */
  sameForMs: number | null;
  /** What its sender calls what has happened, where the trigger does not say which place that has. */
  eventOf?: (() => unknown) | undefined;
  /** Likewise which one it is. */
  idOf?: (() => unknown) | undefined;
}

/** What is stored of it. */
export function toNewDelivery({ id, trigger, kept, content, sameForMs, eventOf, idOf }: Arrival): NewDelivery {
  const { settings } = trigger;
  const { deduplicate } = settings;
  const unnamed = toScope(trigger, { id, event: null, receivedAt: new Date() }, kept);
  const event = toWord(settings.event === null ? eventOf?.() : find(settings.event, unnamed));
  const scope = { ...unnamed, event };
  const said = deduplicate === null ? idOf?.() : find(deduplicate, scope);
  const senderId = toWord(said);
  const isFor = isWanted(settings, scope);
  return {
    id,
    triggerId: trigger.id,
    state: isFor ? 'pending' : 'filtered',
    event,
    senderId,
    same:
      senderId === null
        ? { key: `body ${hash(content)}`, forMs: sameForMs }
        : { key: `id ${hash(Buffer.from(String(said)))}`, forMs: null },
    request: isFor ? kept : null,
    bytes: content.length,
  };
}

// --- internal ---

const MOST_ID = 200;

/** As a list shows it. */
function toWord(value: unknown): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  // Read from JSON it may be that of its neighbour.
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return null;
  const text = String(value).slice(0, MOST_ID).toWellFormed();
  return text === '' || explainText(text) !== undefined ? null : text;
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}
