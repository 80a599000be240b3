import { runOutside } from '../context.ts';
import { decode } from '../serialize.ts';
import type { Execution } from '../run/execution.ts';
import type { Journal } from '../journal.ts';
import type { Append, AppendResult } from '../journal/appends.ts';
import type { CancelResult } from '../journal/ends.ts';
import type { ResumeOptions, ResumeResult } from '../journal/hooks.ts';
import type { RunRow, RunStatus } from '../journal/run.ts';
import { eventsOf, toRunEvent } from '../lifecycle.ts';
import type { Lifecycle, LifecycleEvent, RunEventType } from '../lifecycle.ts';
import type { Observer } from '../observer.ts';
import type { Appender } from './watchers.ts';

/** Tells what happens to runs, while it is heard; otherwise each of these asks that and does nothing. */
export interface Teller {
  run(type: RunEventType, run: RunRow, status?: RunStatus): void;
  /** A run was created here, and has begun, and is over: the row as that left it. */
  created(run: RunRow): void;
  started(run: RunRow): void;
  ended(run: RunRow): void;
  /** Runs that were cancelled, and those that got their locks. */
  cancelled(result: Extract<CancelResult, { outcome: 'cancelled' }>): void;
  decided(result: ResumeResult | undefined, options?: ResumeOptions): void;
  /** Appends, and tells what was in the append once it has landed. */
  appending(write: Appender): Appender;
}

export interface TellerOptions {
  lifecycle: Lifecycle;
  observer?: Observer | undefined;
  journal: Pick<Journal, 'getRun'>;
  live: ReadonlyMap<string, Execution>;
}

export function createTeller({ lifecycle, observer, journal, live }: TellerOptions): Teller {
  // Outside of any run: who hears it is no code of an author.
  const tell = (event: LifecycleEvent): void => runOutside(() => lifecycle.tell(event));
  const run: Teller['run'] = (type, row, status) => {
    if (lifecycle.isHeard) tell(toRunEvent(type, row, status));
  };
  const ended = (row: RunRow): void => observer?.ended(row);
  const observe = ({ runId, records, patch }: Append, row: RunRow | undefined): void => {
    const isBlocked = patch.status === 'blocked';
    if (!observer || (records.length === 0 && !isBlocked)) return;
    const told = (known: RunRow): void => {
      if (records.length > 0) observer.appended(known, records);
      if (isBlocked) observer.blocked?.(known);
    };
    if (row) return told(row);
    // What is written as a run leaves lands after it has left.
    void journal.getRun(runId).then(
      (left) => left && told(left),
      () => {},
    );
  };
  return {
    run,
    created(row) {
      observer?.created(row);
      run('run.created', row);
    },
    started(row) {
      observer?.started(row);
      run('run.started', row);
    },
    ended,
    cancelled({ cancelled, promoted }) {
      if (!lifecycle.isHeard && !observer) return;
      const rows = cancelled.map(async (runId) => {
        const row = await journal.getRun(runId);
        if (row) run('run.ended', row, 'cancelled');
        if (row) ended(row);
      });
      // What cannot be read is not told.
      void Promise.allSettled(rows).then(() => promoted.forEach((row) => run('run.created', row)));
    },
    decided(result, { verdict = 'resumed' } = {}) {
      if (!lifecycle.isHeard || result?.outcome !== 'resumed' || result.hook.kind !== 'approval') return;
      const { runId, token: approvalId, detail } = result.hook;
      const askedBy = askedByOfDetail(detail);
      const event = { type: 'approval.decided' as const, runId, approvalId, status: verdict };
      tell(askedBy === undefined ? event : { ...event, askedBy });
    },
    appending: (write) => (entry, done, failed) => {
      if (!lifecycle.isHeard && !observer) return write(entry, done, failed);
      const row = live.get(entry.runId)?.run;
      const landed = (result: AppendResult): void => {
        // Before the run leaves: what its end promotes is told of after it.
        if (row && lifecycle.isHeard) for (const event of eventsOf(row, entry, result)) tell(event);
        if (result.outcome === 'appended') observe(entry, row);
        done(result);
      };
      write(entry, landed, failed);
    },
  };
}

// --- internal ---

/** Whose run has asked, where not everybody may see it. */
function askedByOfDetail(detail: string | null): string | undefined {
  return detail?.includes('askedBy') ? (decode(detail) as { askedBy?: string }).askedBy : undefined;
}
