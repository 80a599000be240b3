import { randomUUID } from 'node:crypto';
import { runOutside } from '../engine/context.ts';
import { isStoreDown } from '../engine/persist.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { createLookPace } from '../look-pace.ts';
import type { Mask } from '../mask.ts';
import { readItems } from './poll-answer.ts';
import type { Ask, Polled } from './poll-request.ts';
import type { PollRow, PollRows } from './poll-rows.ts';
import { nextPollIn } from './poll-settings.ts';
import type { TriggerLimits } from './limits.ts';
import type { StoredTrigger } from './store.ts';

export interface Poller {
  /** Asks for what is due, unless that is under way. Never waits and never throws. */
  sweep(): void;
  /** One is due sooner than was known. */
  nudge(): void;
  close(): Promise<void>;
}

export interface PollerOptions {
  polls: PollRows;
  findTriggers(ids: readonly string[]): Promise<Map<string, StoredTrigger>>;
  ask: Ask;
  newDeliveryId(): string;
  /** So many deliveries wait that did not before. */
  stored(triggerId: string, count: number): Promise<void>;
  /** False: there is nothing in the store, or it is not open yet. */
  isUsed(): boolean;
  limits: TriggerLimits;
  mask: Pick<Mask, 'text'>;
  log: Log;
}

/**
 * Asks services what is new. One replica has a poll at a time, for as long as its lease. What is new is stored together with
 * having been seen: a process that dies before that leaves a poll that another makes, one that dies after it has lost nothing.
 */
export function createPoller(options: PollerOptions): Poller {
  const { polls, findTriggers, ask, newDeliveryId, stored, isUsed, limits, mask, log } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const running = new Set<Promise<void>>();
  let looking: Promise<void> | undefined;
  const pace = createLookPace(limits.lookMs);
  let isAsked = false;

  const fail = async (leaseId: string, row: PollRow, polled: Polled & { outcome: 'failed' }): Promise<void> => {
    const { triggerId, failures } = row;
    const { status, problem, waitMs } = polled;
    const shown = { code: problem.code, message: mask.text(problem.message.slice(0, MOST_MESSAGE)) };
    const backoff = Math.min(limits.longestPollRetryMs, limits.pollRetryMs * 2 ** Math.min(failures, 30));
    const nextInMs = Math.max(waitMs, backoff * (0.9 + Math.random() * 0.2));
    const isNoted = await polls.failed(leaseId, triggerId, { status, nextInMs, problem: shown });
    // Once for each time it begins to fail: a service may be away for days.
    if (isNoted && failures === 0)
      log.warn('A poll of a trigger failed.', { trigger: triggerId, reason: shown.message });
  };
  const finish = async (leaseId: string, row: PollRow, trigger: StoredTrigger, polled: Polled): Promise<void> => {
    const { poll } = trigger.settings;
    if (!poll) return;
    if (polled.outcome === 'failed') return fail(leaseId, row, polled);
    const end = { status: polled.status, nextInMs: nextPollIn(poll, Date.now()) };
    if (polled.outcome === 'same') return void (await polls.same(leaseId, row.triggerId, end));
    try {
      const items = await readItems({ ...polled, trigger, poll }, { limits, newDeliveryId });
      const isOnlyNoted = row.polledAt === null && poll.from !== 'all';
      const { validators } = polled;
      const done = await polls.answered(leaseId, row.triggerId, { ...end, items, validators, isOnlyNoted });
      if (done && done.stored > 0) await stored(row.triggerId, done.stored);
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      const { code, message } = error;
      await fail(leaseId, row, { outcome: 'failed', status: polled.status, problem: { code, message }, waitMs: 0 });
    }
  };
  const pollOne = async (leaseId: string, row: PollRow, trigger: StoredTrigger): Promise<void> => {
    try {
      const { poll } = trigger.settings;
      if (poll) await finish(leaseId, row, trigger, await ask(poll, row, { name: trigger.name, signal }));
    } catch (error) {
      if (signal.aborted) return;
      if (!isStoreDown(error)) log.error('A poll could not be made.', { trigger: trigger.id, error });
    }
  };
  const look = async (): Promise<void> => {
    const free = AT_ONCE - running.size;
    if (free <= 0) return;
    const leaseId = randomUUID();
    const taken = await polls.take(leaseId, free);
    if (taken.length > 0) pace.found();
    const triggers =
      taken.length === 0
        ? new Map<string, StoredTrigger>()
        : await findTriggers(taken.map(({ triggerId }) => triggerId));
    for (const row of taken) {
      const trigger = triggers.get(row.triggerId);
      if (!trigger) continue;
      const polling = pollOne(leaseId, row, trigger).finally(() => {
        running.delete(polling);
        nudge();
        if (signal.aborted) return polls.release(leaseId).catch(() => undefined);
      });
      running.add(polling);
    }
    const next = await polls.nextIn();
    if (next !== undefined) pace.dueIn(next);
  };
  const begin = (): void => {
    if (signal.aborted || looking) return;
    isAsked = false;
    looking = runOutside(look)
      .catch((error: unknown) => {
        pace.dueIn(limits.lookMs);
        if (!signal.aborted && !isStoreDown(error)) log.error('Polls of triggers could not be started.', { error });
      })
      .finally(() => {
        looking = undefined;
        if (isAsked) begin();
      });
  };
  const nudge = (): void => {
    isAsked = true;
    begin();
  };
  return {
    sweep() {
      if (isUsed() && pace.isTime()) begin();
    },
    nudge,
    async close() {
      closing.abort();
      await looking;
      await Promise.all(running);
    },
  };
}

// --- internal ---

/** Polls of one process at a time. */
const AT_ONCE = 8;
const MOST_MESSAGE = 1_000;
