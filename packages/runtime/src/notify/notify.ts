import type { Approvals } from '../approvals/approvals.ts';
import { runOutside } from '../engine/context.ts';
import type { Journal } from '../engine/journal.ts';
import type { Delivery, FailingReceiver, Notice, NoticeTopic } from '../engine/journal/notices.ts';
import { isStoreDown } from '../engine/persist.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { createRarely } from '../runs/rarely.ts';
import { toReceivers } from './config.ts';
import type { NotifyEvent, NotifyReceiver, Receiver } from './config.ts';
import { findMessage, toDeliveries } from './message.ts';
import { send } from './send.ts';
import type { Sent } from './send.ts';

export interface Notify {
  /** The receivers of now. */
  receivers(): Receiver[];
  /** Sends what is due, unless that is under way. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

/** What becomes of messages, for figures. */
export type NotifyOutcome = 'delivered' | 'retrying' | 'failed' | 'left_out';

export interface NotifyOptions {
  journal: Pick<Journal, 'getRun' | 'notices'>;
  approvals: Pick<Approvals, 'find'>;
  settings(): readonly NotifyReceiver[] | undefined;
  readSecret(name: string): Promise<string>;
  url(): string;
  version: string;
  mask: Mask;
  log: Log;
  count(receiver: string, outcome: NotifyOutcome): void;
  limits?: Partial<NotifyLimits> | undefined;
}

export interface NotifyLimits {
  /** Milliseconds after each attempt until the next; after the last one it has failed. */
  delays: readonly number[];
  timeoutMs: number;
  /** Messages under way to one receiver. */
  atOnce: number;
  /** Messages that wait for one receiver; those that come after are left out. */
  most: number;
  /** Failures in a row after which a receiver is paused. */
  pauseAfter: number;
  /** For so long at first, then twice as long each time, up to `longestPauseMs`. */
  pauseMs: number;
  longestPauseMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const NOTIFY_LIMITS: NotifyLimits = {
  delays: [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR],
  timeoutMs: 10 * SECOND,
  atOnce: 8,
  most: 10_000,
  pauseAfter: 5,
  pauseMs: 30 * SECOND,
  longestPauseMs: 15 * MINUTE,
};

/**
 * Notifies receivers of runs that stop. A notice is in the journal from the commit it is about; it becomes one delivery for each
 * receiver, and those are taken by one replica at a time. A crash between any two writes leaves what has been done undone
 * to be done again: a receiver may hear twice, under one id.
 */
export function createNotify(options: NotifyOptions): Notify {
  const { journal, settings, log, count } = options;
  const { notices } = journal;
  const limits = { ...NOTIFY_LIMITS, ...options.limits };
  const closing = new AbortController();
  const underWay = new Map<string, Set<Promise<void>>>();
  let passing: Promise<void> | undefined;
  let heard: { topics: string; at: number } | undefined;
  let forgetAt = 0;
  const rarely = createRarely<{ name: string; message: string; reason: string }>({
    quietMs: 10 * SECOND,
    say: ({ name, message, reason }) => log.error(message, { receiver: name, reason }),
    sayLeftOut: (name, left) => log.error(`${left} more messages to "${name}" of notify failed.`, { receiver: name }),
  });

  const listen = async (receivers: readonly Receiver[]): Promise<void> => {
    const topics = [...new Set(receivers.flatMap(({ events }) => events.map(toTopic)))].toSorted();
    const text = topics.join();
    // Said again and again: a replica of an earlier deploy may have said otherwise in between.
    if (heard?.topics === text && (text === '' || performance.now() - heard.at < LISTEN_MS)) return;
    await notices.listen(topics);
    heard = { topics: text, at: performance.now() };
  };

  /** Notices become deliveries. */
  const spread = async (receivers: readonly Receiver[]): Promise<void> => {
    for (let isMore = true; isMore && !closing.signal.aborted;) {
      const noted = await notices.listNotices(BATCH);
      isMore = noted.length === BATCH;
      const pending = new Map((await notices.countPending()).map((each) => [each.receiver, each.count]));
      const made = (await Promise.all(noted.map((notice) => deliveriesOf(notice, receivers)))).flat();
      const kept = made.filter(({ receiver }) => {
        const waiting = pending.get(receiver) ?? 0;
        pending.set(receiver, waiting + 1);
        if (waiting < limits.most) return true;
        count(receiver, 'left_out');
        rarely.add({ name: receiver, message: `Too many messages wait for "${receiver}" of notify.`, reason: 'full' });
        return false;
      });
      await notices.deliver(noted, kept);
    }
  };
  const deliveriesOf = async (notice: Notice, receivers: readonly Receiver[]) => {
    const message = await findMessage(notice, options);
    return message ? toDeliveries(notice, message, receivers) : [];
  };

  /** Begins to send what is due to the receiver, as much as there is room for. */
  const pump = async (receiver: Receiver, failing: FailingReceiver | undefined, now: number): Promise<void> => {
    if ((failing?.pausedUntil ?? 0) > now) return;
    const flying = underWay.get(receiver.name) ?? new Set();
    underWay.set(receiver.name, flying);
    // One that was paused is tried with a single message.
    const room = (failing?.pausedUntil == null ? limits.atOnce : 1) - flying.size;
    if (room <= 0 || closing.signal.aborted) return;
    const taken = await notices.takeDue(receiver.name, room, limits.timeoutMs + HOLD_MS);
    for (const delivery of taken) {
      const flight = attempt(delivery, receiver, failing)
        .catch((error: unknown) => complain(error))
        .finally(() => flying.delete(flight));
      flying.add(flight);
      // Where one has gone there may be room for the next.
      void flight.then(() => sweep());
    }
  };

  const attempt = async (delivery: Delivery, receiver: Receiver, failing: FailingReceiver | undefined) => {
    const { signal } = closing;
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

  const pass = async (): Promise<void> => {
    const receivers = toReceivers(settings());
    await listen(receivers);
    if (receivers.length === 0) return;
    const found = await notices.look();
    if (found.hasNotices) await spread(receivers);
    if (found.hasNotices || (found.nextAt !== null && found.nextAt <= found.now)) {
      const failing = new Map((await notices.listFailing()).map((each) => [each.receiver, each]));
      for (const receiver of receivers) await pump(receiver, failing.get(receiver.name), found.now);
    }
    if (performance.now() < forgetAt) return;
    forgetAt = performance.now() + HOUR;
    await notices.forgetBefore(found.now - KEPT_MS);
  };

  const complain = (error: unknown): void => {
    if (!closing.signal.aborted && !isStoreDown(error)) log.error('Messages of notify could not be sent.', { error });
  };
  const sweep = (): void => {
    if (closing.signal.aborted || passing) return;
    passing = runOutside(pass)
      .catch(complain)
      .finally(() => (passing = undefined));
  };

  return {
    receivers: () => toReceivers(settings()),
    sweep,
    async close() {
      closing.abort(new Error('The box closes.'));
      await passing;
      await Promise.allSettled([...underWay.values()].flatMap((flights) => [...flights]));
      rarely.close();
    },
  };
}

// --- internal ---

type Failed = Extract<Sent, { isDelivered: false }>;

const BATCH = 100;
/** Beyond the time an answer may take: until then no other replica sends the same. */
const HOLD_MS = 20 * SECOND;
const LISTEN_MS = MINUTE;
/** A message is not sent later than this, and one that is over is kept for as long. */
const LONGEST_MS = 3 * 24 * HOUR;
const KEPT_MS = 14 * 24 * HOUR;

function toTopic(event: NotifyEvent): NoticeTopic {
  return event === 'run.poisoned' ? 'run.failed' : event;
}

/** Up to a quarter sooner, so that what failed together does not come back together. */
function withJitter(ms: number): number {
  return Math.ceil(ms * (1 - Math.random() / 4));
}
