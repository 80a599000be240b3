import type { Delivery, FailingReceiver, NoticeStore } from '../engine/journal/notices.ts';
import type { Log } from '../log.ts';
import type { Receiver } from './config.ts';
import { HOUR, SECOND } from './limits.ts';
import type { NotifyLimits } from './limits.ts';
import { send } from './send.ts';
import type { Sent, SendOptions } from './send.ts';

/** Sends the deliveries of the journal. */
export interface Sender {
  /** Begins to send what is due to the receiver, as much as there is room for. */
  pump(receiver: Receiver, failing: FailingReceiver | undefined, now: number): Promise<void>;
  /** Resolves when nothing is under way. */
  settle(): Promise<void>;
}

/** What happens to messages, for figures. */
export type NotifyOutcome = 'delivered' | 'retrying' | 'failed' | 'left_out';

export interface SenderOptions extends Pick<SendOptions, 'readSecret' | 'version' | 'signal'> {
  journal: { notices: NoticeStore };
  limits: NotifyLimits;
  log: Log;
  rarely: { add(item: { name: string; message: string; reason: string }): void };
  count(receiver: string, outcome: NotifyOutcome): void;
  /** Called when a message is no longer under way: there may be room for the next. */
  onGone(): void;
  complain(error: unknown): void;
}

export function createSender(options: SenderOptions): Sender {
  const { journal, limits, log, rarely, count, signal, onGone, complain } = options;
  const { notices } = journal;
  const underWay = new Map<string, Set<Promise<void>>>();

  const pump = async (receiver: Receiver, failing: FailingReceiver | undefined, now: number): Promise<void> => {
    if ((failing?.pausedUntil ?? 0) > now) return;
    const flying = underWay.get(receiver.name) ?? new Set();
    underWay.set(receiver.name, flying);
    // One that was paused is tried with a single message.
    const room = (failing?.pausedUntil == null ? limits.atOnce : 1) - flying.size;
    if (room <= 0 || signal.aborted) return;
    const taken = await notices.takeDue(receiver.name, room, limits.timeoutMs + HOLD_MS);
    for (const delivery of taken) {
      const flight = attempt(delivery, receiver, failing)
        .catch(complain)
        .finally(() => flying.delete(flight));
      flying.add(flight);
      void flight.then(onGone);
    }
  };

  const attempt = async (delivery: Delivery, receiver: Receiver, failing: FailingReceiver | undefined) => {
    const sent = await send(delivery, receiver, { ...options, ...limits, signal }).catch(async (error: unknown) => {
      await notices.release(delivery);
      throw error;
    });
    const { name } = receiver;
    if (sent.isDelivered) {
      await notices.settle(delivery, { state: 'delivered', nextAt: null, error: null });
      count(name, 'delivered');
      if (!failing) return;
      await notices.noteSuccess(name);
      if (failing.pausedUntil !== null) log.info(`"${name}" of notify takes messages again.`, { receiver: name });
      return;
    }
    await fail(delivery, receiver, sent);
  };

  const fail = async (delivery: Delivery, { name }: Receiver, { reason, retryAfterMs }: Failed): Promise<void> => {
    const { now } = await notices.look();
    const failures = ((await notices.listFailing()).find(({ receiver }) => receiver === name)?.failures ?? 0) + 1;
    const delay = limits.delays[delivery.attempts - 1];
    const isOver = delay === undefined || now - delivery.createdAt > LONGEST_MS;
    const nextAt = isOver ? null : now + Math.max(retryAfterMs ?? 0, withJitter(delay));
    await notices.settle(delivery, { state: isOver ? 'failed' : 'pending', nextAt, error: reason });
    count(name, isOver ? 'failed' : 'retrying');
    if (isOver)
      rarely.add({ name, reason, message: `A message to "${name}" of notify has failed: ${delivery.deliveryId}` });
    const doublings = failures - limits.pauseAfter;
    const pause = doublings < 0 ? undefined : Math.min(limits.pauseMs * 2 ** doublings, limits.longestPauseMs);
    await notices.noteFailure(name, reason, pause === undefined ? null : Math.ceil(now + withJitter(pause)));
    if (doublings === 0)
      log.error(`"${name}" of notify takes no messages: it is tried less often until it does.`, {
        receiver: name,
        reason,
      });
  };

  return {
    pump,
    async settle() {
      await Promise.allSettled([...underWay.values()].flatMap((flights) => [...flights]));
    },
  };
}

// --- internal ---

type Failed = Extract<Sent, { isDelivered: false }>;

/** Beyond the time an answer may take: until then no other replica sends the same. */
const HOLD_MS = 20 * SECOND;
/** A message is not sent later than this. */
const LONGEST_MS = 3 * 24 * HOUR;

/** Up to a quarter sooner, so that what failed together does not come back together. */
function withJitter(ms: number): number {
  return Math.ceil(ms * (1 - Math.random() / 4));
}
