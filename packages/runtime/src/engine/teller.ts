import { runOutside } from './context.ts';
import type { Execution } from './execution.ts';
import type { AppendResult, CancelResult, Journal, ResumeOptions, ResumeResult, RunRow, RunStatus } from './journal.ts';
import { eventsOf, toRunEvent } from './lifecycle.ts';
import type { Lifecycle, LifecycleEvent, RunEventType } from './lifecycle.ts';
import type { Appender } from './watch.ts';

/** Tells what happens to runs, while it is heard; otherwise each of these asks that and does nothing. */
export interface Teller {
  run(type: RunEventType, run: RunRow, status?: RunStatus): void;
  /** Runs that were cancelled, and those that got their locks. */
  cancelled(result: Extract<CancelResult, { outcome: 'cancelled' }>): void;
  decided(result: ResumeResult | undefined, options?: ResumeOptions): void;
  /** Appends, and tells what was in the append once it has landed. */
  appending(write: Appender): Appender;
}

export interface TellerOptions {
  lifecycle: Lifecycle;
  journal: Pick<Journal, 'getRun'>;
  live: ReadonlyMap<string, Execution>;
}

export function createTeller({ lifecycle, journal, live }: TellerOptions): Teller {
  // Outside of any run: who hears it is no code of an author.
  const tell = (event: LifecycleEvent): void => runOutside(() => lifecycle.tell(event));
  const run: Teller['run'] = (type, row, status) => {
    if (lifecycle.isHeard) tell(toRunEvent(type, row, status));
  };
  return {
    run,
    cancelled({ cancelled, promoted }) {
      if (!lifecycle.isHeard) return;
      const rows = cancelled.map(async (runId) => {
        const row = await journal.getRun(runId);
        if (row) run('run.ended', row, 'cancelled');
      });
      // What cannot be read is not told.
      void Promise.allSettled(rows).then(() => promoted.forEach((row) => run('run.created', row)));
    },
    decided(result, { verdict = 'resumed' } = {}) {
      if (!lifecycle.isHeard || result?.outcome !== 'resumed' || result.hook.kind !== 'approval') return;
      const { runId, token: approvalId } = result.hook;
      tell({ type: 'approval.decided', runId, approvalId, status: verdict });
    },
    appending: (write) => (entry, done, failed) => {
      const row = lifecycle.isHeard ? live.get(entry.runId)?.run : undefined;
      if (!row) return write(entry, done, failed);
      const landed = (result: AppendResult): void => {
        // Before the run leaves: what its end promotes is told of after it.
        for (const event of eventsOf(row, entry, result)) tell(event);
        done(result);
      };
      write(entry, landed, failed);
    },
  };
}
