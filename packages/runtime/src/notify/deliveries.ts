import { z } from 'zod';
import type { Journal } from '../engine/journal.ts';
import type { Delivery, DeliveryState } from '../engine/journal/notices.ts';
import { BoxError, invalidCursor } from '../errors.ts';
import { toIso } from '../json-value.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import type { Receiver } from './config.ts';
import type { Notify } from './notify.ts';

export const NotifyDelivery = z.object({
  deliveryId: z.string().describe('What its receiver gets as `webhook-id`, with every attempt'),
  receiver: z.string(),
  type: z.string(),
  runId: z.uuid(),
  state: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.int(),
  nextAt: z.iso.datetime().nullable().describe('When it is tried next; null: it is over'),
  createdAt: z.iso.datetime(),
  lastAt: z.iso.datetime().nullable(),
  lastError: z.string().nullable(),
});
export type NotifyDelivery = z.infer<typeof NotifyDelivery>;

export const NotifyReceiverState = z.object({
  name: z.string(),
  url: z.string().describe('Without its query'),
  events: z.array(z.string()),
  workflows: z.array(z.string()).nullable().describe('Null: all'),
  pending: z.int(),
  failures: z.int().describe('In a row; 0: the last message was delivered'),
  failingSince: z.iso.datetime().nullable(),
  pausedUntil: z.iso.datetime().nullable().describe('Nothing is sent until then, as it has failed too often'),
  lastError: z.string().nullable(),
});
export type NotifyReceiverState = z.infer<typeof NotifyReceiverState>;

/** What was sent, and to whom. */
export interface Deliveries {
  listReceivers(): Promise<NotifyReceiverState[]>;
  /** Throws `invalid_cursor`. */
  list(
    filter: { receiver?: string; state?: DeliveryState; runId?: string },
    page: { limit: number; cursor?: string },
  ): Promise<{ items: NotifyDelivery[]; nextCursor: string | null }>;
  find(deliveryId: string): Promise<NotifyDelivery | undefined>;
  /** Throws `delivery_not_found`. */
  redeliver(deliveryId: string): Promise<NotifyDelivery>;
}

export interface DeliveriesOptions {
  journal: Pick<Journal, 'notices'>;
  notify: Pick<Notify, 'receivers' | 'sweep'>;
}

export function createDeliveries({ journal: { notices }, notify }: DeliveriesOptions): Deliveries {
  return {
    async listReceivers() {
      const [failing, pending] = await Promise.all([notices.listFailing(), notices.countPending()]);
      return notify.receivers().map((receiver) => {
        const { failures, since, pausedUntil, lastError } =
          failing.find((each) => each.receiver === receiver.name) ?? NOT_FAILING;
        return {
          ...toView(receiver),
          pending: pending.find((each) => each.receiver === receiver.name)?.count ?? 0,
          failures,
          failingSince: toTime(since),
          pausedUntil: toTime(pausedUntil),
          lastError,
        };
      });
    },
    async list(filter, { limit, cursor }) {
      const before = cursor === undefined ? {} : { before: toPosition(cursor) };
      const found = await notices.list(filter, { limit: limit + 1, ...before });
      const last = found.length > limit ? found[limit - 1] : undefined;
      return {
        items: found.slice(0, limit).map(toDelivery),
        nextCursor: last ? toIdCursor(String(last.deliveryNo)) : null,
      };
    },
    async find(deliveryId) {
      const delivery = await notices.find(deliveryId);
      return delivery && toDelivery(delivery);
    },
    async redeliver(deliveryId) {
      const delivery = await notices.redeliver(deliveryId);
      if (!delivery) throw new BoxError('delivery_not_found', `There is no message "${deliveryId}".`);
      notify.sweep();
      return toDelivery(delivery);
    },
  };
}

// --- internal ---

const NOT_FAILING = { failures: 0, since: null, pausedUntil: null, lastError: null };

function toTime(at: number | null): string | null {
  return at === null ? null : toIso(at);
}

/** A query may hold a token. */
function toView({ name, url, events, workflows }: Receiver) {
  const { origin, pathname } = new URL(url);
  return { name, url: `${origin}${pathname}`, events: [...events], workflows: workflows ? [...workflows] : null };
}

function toDelivery(delivery: Delivery): NotifyDelivery {
  const { deliveryId, receiver, type, runId, state, attempts, nextAt, createdAt, lastAt, lastError } = delivery;
  const facts = { deliveryId, receiver, type, runId, state, attempts };
  return { ...facts, nextAt: toTime(nextAt), createdAt: toIso(createdAt), lastAt: toTime(lastAt), lastError };
}

function toPosition(cursor: string): number {
  const id = Number(parseIdCursor(cursor));
  if (!Number.isSafeInteger(id)) throw invalidCursor(cursor);
  return id;
}
