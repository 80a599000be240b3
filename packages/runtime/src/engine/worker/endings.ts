import type { Log } from '../../log.ts';
import { RunCancelledError } from '../errors.ts';
import { newRunId } from '../ids.ts';
import type { Journal } from '../journal.ts';
import { readCancel } from '../journal/cancel.ts';
import type { CancelHow } from '../journal/cancel.ts';
import type { CancelResult } from '../journal/ends.ts';
import type { RunRow } from '../journal/run.ts';
import { encodeError, parentEnded, runTimedOut } from '../run/outcome.ts';
import type { Leave, Left } from '../run/driver.ts';
import { decode } from '../serialize.ts';
import { toText } from '../values/text.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Publisher } from './publisher.ts';
import type { Signals } from './signals.ts';
import type { Watchers } from './watchers.ts';

/** How runs leave this process and come to their end. */
export interface Endings {
  /** A run has left memory: those who wait for it, and for what it held, go on. */
  left(run: RunRow, how: Leave, left: Left): void;
  /**
   * Ends a run and the runs below it; with `cleansUp` those with time for it clean up first, unless they do so already.
   * Undefined: no such run.
   */
  cancel(runId: string, reason: Error, options?: CancelOptions): Promise<CancelResult | undefined>;
  /** Cancels what is below a run that is about to end, where it was started to be. False: the run has to wait for others. */
  closeChildren(runId: string): Promise<boolean>;
  /** Cancels what is below a cancelled run and was started after its cancel. */
  cancelChildren(run: Pick<RunRow, 'runId' | 'cancel'>): Promise<void>;
  /** The time of a run is over. */
  expire(run: Pick<RunRow, 'runId' | 'cancel' | 'timeoutMs'>): Promise<void>;
}

export interface CancelOptions {
  cleansUp?: boolean;
  /** Where the run has been cancelled before, nothing happens. */
  isFirst?: boolean;
}

export interface EndingsOptions {
  /** The milliseconds a cancelled run has to clean up. Default: none. */
  graceOf: ((run: Pick<RunRow, 'kind' | 'name'>) => number) | undefined;
  journal: Journal;
  log: Log;
  live: LiveRuns;
  /** A run has left memory. */
  onLeft?: ((runId: string) => void) | undefined;
  publisher: Publisher;
  watchers: Watchers;
  signals: Signals;
}

export function createEndings(options: EndingsOptions): Endings {
  const { journal, log, graceOf, live, publisher, watchers, signals } = options;

  /** A run is final: whoever waits for it looks again, or is handed the row. */
  const ended = (runId: string, parentRunId: string | null, row?: RunRow): void => {
    watchers.ended(runId, row);
    signals.ring('ended', runId);
    if (parentRunId !== null) signals.signal(parentRunId);
  };

  /** A run that has continued as another is that one. */
  const cancel: Endings['cancel'] = (runId, reason, { cleansUp = false, isFirst = false } = {}) =>
    cancelAs(runId, reason, { ...(cleansUp && graceOf ? { graceOf } : {}), isFirst });

  const cancelAs = async (runId: string, reason: Error, how?: CancelHow): Promise<CancelResult | undefined> => {
    const result = await journal.cancel(runId, encodeError(reason), newRunId, how);
    if (result?.outcome !== 'cancelled') {
      const last = await journal.getLastRun(runId);
      return last && last.runId !== runId ? cancelAs(last.runId, reason, how) : result;
    }
    await spread(result, reason);
    if (result.cleaning.includes(runId)) return result;
    const parent = (await journal.getRun(runId).catch(() => undefined))?.parentRunId;
    if (parent) signals.signal(parent);
    return result;
  };

  /** Those that were cancelled end or clean up, wherever they are. */
  const spread = async (result: Cancelled, reason: Error): Promise<void> => {
    for (const cleaning of result.cleaning) {
      const execution = live.get(cleaning);
      if (execution) await live.abandonIfFinal(execution).catch(() => {});
      // Whoever has it looks at its row; what is not stored or heard, the sweep finds.
      else {
        signals.ring('ended', cleaning);
        signals.signal(cleaning);
      }
    }
    publisher.cancelled(result);
    for (const cancelled of result.cancelled) {
      live.get(cancelled)?.abandon(reason);
      ended(cancelled, null);
    }
    for (const promoted of result.promoted) signals.signal(promoted.runId);
  };

  return {
    cancel,
    async closeChildren(runId) {
      for (;;) {
        const closing = await journal.listClosing(runId, CLOSED_AT_ONCE);
        const doomed = closing.filter(({ closePolicy }) => closePolicy === 'cancel');
        if (doomed.length === 0) return closing.length === 0;
        for (const child of doomed)
          if (child.runId !== null) await cancel(child.runId, parentEnded(), { cleansUp: true });
          else if (child.triggerId !== null) await journal.queue.remove(child.triggerId);
      }
    },
    async cancelChildren({ runId, cancel: text }) {
      const cancelled = readCancel({ cancel: text });
      if (!cancelled) return;
      const how = { ...(graceOf && { graceOf }), isBelow: true };
      const result = await journal.cancel(runId, cancelled.error, newRunId, how);
      if (result?.outcome === 'cancelled') await spread(result, decode(cancelled.error) as Error);
    },
    async expire({ runId, cancel: text, timeoutMs }) {
      const cancelled = readCancel({ cancel: text });
      const grace = graceOf && { graceOf };
      if (cancelled) await cancelAs(runId, decode(cancelled.error) as Error, { ...grace, isOver: true });
      else await cancelAs(runId, runTimedOut(timeoutMs ?? 0), { ...grace, isFirst: true, status: 'failed' });
    },
    left(run, how, { row, promoted, reason }) {
      live.remove(run);
      options.onLeft?.(run.runId);
      if (how === 'dropped')
        log.warn('The run left this process.', { runId: run.runId, name: run.name, reason: toText(reason) });
      if (row) publisher.ended(row);
      if (row?.continuedTo) live.adopt(run.runId, row.continuedTo);
      // A run that continues has not ended to its parent.
      if (how === 'ended') ended(run.runId, row?.continuedTo ? null : run.parentRunId, row);
      else watchers.changed(run.runId);
      if (promoted) signals.signal(promoted.runId);
      // Its code differs from what is recorded: it cannot clean up.
      if (how === 'blocked' && run.cancel !== null) void cancel(run.runId, new RunCancelledError()).catch(() => {});
    },
  };
}

// --- internal ---

const CLOSED_AT_ONCE = 100;

type Cancelled = Extract<CancelResult, { outcome: 'cancelled' }>;
