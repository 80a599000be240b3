import type { Approvals } from '../approvals/approvals.ts';
import { runOutside } from '../engine/context.ts';
import type { Journal } from '../engine/journal.ts';
import type { Notice, NoticeTopic } from '../engine/journal/notices.ts';
import { isStoreDown } from '../engine/persist.ts';
import type { Log } from '../log.ts';
import type { Mask } from '../mask.ts';
import { createRarely } from '../runs/rarely.ts';
import { toReceivers } from './config.ts';
import type { NotifyEvent, NotifyReceiver, Receiver } from './config.ts';
import { findMessage, toDeliveries } from './message.ts';
import { HOUR, MINUTE, NOTIFY_LIMITS, SECOND } from './limits.ts';
import type { NotifyLimits } from './limits.ts';
import { createSender } from './sender.ts';
import type { NotifyOutcome } from './sender.ts';

export interface Notify {
  /** The receivers of now. */
  receivers(): Receiver[];
  /** Sends what is due, unless that is under way. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

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
  let passing: Promise<void> | undefined;
  let heard: { topics: string; at: number } | undefined;
  let forgetAt = 0;
  const rarely = createRarely<{ name: string; message: string; reason: string }>({
    quietMs: 10 * SECOND,
    say: ({ name, message, reason }) => log.error(message, { receiver: name, reason }),
    sayLeftOut: (name, left) => log.error(`${left} more messages to "${name}" of notify failed.`, { receiver: name }),
  });

  const complain = (error: unknown): void => {
    if (!closing.signal.aborted && !isStoreDown(error)) log.error('Messages of notify could not be sent.', { error });
  };
  const { signal } = closing;
  const sender = createSender({ ...options, limits, rarely, signal, onGone: () => sweep(), complain });

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

  const pass = async (): Promise<void> => {
    const receivers = toReceivers(settings());
    await listen(receivers);
    if (receivers.length === 0) return;
    const found = await notices.look();
    if (found.hasNotices) await spread(receivers);
    if (found.hasNotices || (found.nextAt !== null && found.nextAt <= found.now)) {
      const failing = new Map((await notices.listFailing()).map((each) => [each.receiver, each]));
      for (const receiver of receivers) await sender.pump(receiver, failing.get(receiver.name), found.now);
    }
    if (performance.now() < forgetAt) return;
    forgetAt = performance.now() + HOUR;
    await notices.forgetBefore(found.now - KEPT_MS);
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
      await sender.settle();
      rarely.close();
    },
  };
}

// --- internal ---

const BATCH = 100;
const LISTEN_MS = MINUTE;
/** How long messages that are over are kept. */
const KEPT_MS = 14 * 24 * HOUR;

function toTopic(event: NotifyEvent): NoticeTopic {
  return event === 'run.poisoned' ? 'run.failed' : event;
}
