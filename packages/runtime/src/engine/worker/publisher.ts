import { runOutside } from '../context.ts';
import type { Journal } from '../journal.ts';
import type { Append, AppendResult } from '../journal/appends.ts';
import type { CancelResult } from '../journal/ends.ts';
import type { ResumeOptions, ResumeResult } from '../journal/hooks.ts';
import type { RunRow, RunStatus } from '../journal/run.ts';
import { eventsOf, toRunEvent, UNFOLLOWED } from '../lifecycle.ts';
import type { Lifecycle, LifecycleEvent, RunEventType } from '../lifecycle.ts';
import type { Observer } from '../observer.ts';
import { decode } from '../serialize.ts';

/** Publishes what happens to runs: as events while a client follows them, and to the observer of this process. */
export interface Publisher {
  run(type: RunEventType, run: RunRow, status?: RunStatus): void;
  /** A run was created here, and has begun, and is over: the row as that left it. */
  created(run: RunRow): void;
  started(run: RunRow): void;
  /** A run was taken up here that has begun before. */
  taken(run: RunRow): void;
  ended(run: RunRow): void;
  /** Runs that were cancelled, and those that got their locks. */
  cancelled(result: Extract<CancelResult, { outcome: 'cancelled' }>): void;
  decided(result: ResumeResult | undefined, options?: ResumeOptions): void;
  /** An append has landed. `run`: undefined when it had left memory as the entry was sent. */
  appended(entry: Append, result: AppendResult, run: RunRow | undefined): void;
}

export interface PublisherOptions {
  /** Absent: no events are made. */
  lifecycle: Lifecycle | undefined;
  observer: Observer | undefined;
  journal: Pick<Journal, 'getRun'>;
}

export function createPublisher({ lifecycle = UNFOLLOWED, observer, journal }: PublisherOptions): Publisher {
  // Outside of any run: who hears it is no code of an author.
  const publish = (event: LifecycleEvent): void => runOutside(() => lifecycle.publish(event));
  const run: Publisher['run'] = (type, row, status) => {
    if (lifecycle.isFollowed) publish(toRunEvent(type, row, status));
  };
  const ended = (row: RunRow): void => observer?.ended(row);
  const observe = ({ records, patch: { status } }: Append, row: RunRow): void => {
    if (!observer) return;
    if (records.length > 0) observer.appended(row, records);
    if (status === 'blocked') observer.blocked?.(row);
    if (status === 'waiting') observer.waiting?.(row);
    if (status === 'running') observer.resumed?.(row);
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
    taken: (row) => observer?.resumed?.(row),
    ended,
    cancelled({ cancelled, promoted }) {
      if (!lifecycle.isFollowed && !observer) return;
      const rows = cancelled.map(async (runId) => {
        const row = await journal.getRun(runId);
        if (row) run('run.ended', row);
        if (row) ended(row);
      });
      // What cannot be read is not published.
      void Promise.allSettled(rows).then(() => promoted.forEach((row) => run('run.created', row)));
    },
    decided(result, { verdict = 'resumed' } = {}) {
      if (!lifecycle.isFollowed || result?.outcome !== 'resumed' || result.hook.kind !== 'approval') return;
      const { runId, token: approvalId, detail } = result.hook;
      const askedBy = askedByOfDetail(detail);
      const event = { type: 'approval.decided' as const, runId, approvalId, status: verdict };
      publish(askedBy === undefined ? event : { ...event, askedBy });
    },
    appended(entry, result, row) {
      if (result.outcome !== 'appended') return;
      const report = (known: RunRow): void => {
        if (lifecycle.isFollowed) for (const event of eventsOf(known, entry, result)) publish(event);
        observe(entry, known);
      };
      // Before the run leaves: what its end promotes is published after it.
      if (row) return report(row);
      const { records, patch } = entry;
      const says = records.length > 0 || patch.status !== undefined || patch.state !== undefined;
      if (!(lifecycle.isFollowed || observer) || !says) return;
      // What is written as a run leaves lands after it has left: that it is blocked.
      void journal.getRun(entry.runId).then(
        (left) => left && report(left),
        () => {},
      );
    },
  };
}

// --- internal ---

/** Whose run has asked, where not everyone may see it. */
function askedByOfDetail(detail: string | null): string | undefined {
  return detail?.includes('askedBy') ? (decode(detail) as { askedBy?: string }).askedBy : undefined;
}
