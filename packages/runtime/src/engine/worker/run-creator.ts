import { BoxError } from '../../errors.ts';
import type { Body } from '../body.ts';
import { runOutside } from '../context.ts';
import type { Journal } from '../journal.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import type { CreateResult, NewRun } from '../journal/starts.ts';
import type { LargeValues } from '../large-values.ts';
import type { Claims } from './claims.ts';
import type { Endings } from './endings.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Loading } from './loading.ts';
import { withdrawOrphan } from './orphaned-start.ts';
import type { Publisher } from './publisher.ts';
import type { Signals } from './signals.ts';

export type CreateRun = (run: NewRun, body: Body) => Promise<CreateResult>;

export interface RunCreatorOptions {
  journal: Journal;
  owner: string;
  closing: AbortSignal;
  live: LiveRuns;
  loading: Loading;
  claims: Claims;
  publisher: Publisher;
  signals: Signals;
  endings: Endings;
  large: LargeValues;
}

/**
 * How a new run gets into the journal, and where this process takes it in the same commit, into memory. Answers once the run, or
 * the queued start, is in the journal.
 */
export function createRunCreator(options: RunCreatorOptions): CreateRun {
  const { journal, owner, closing, live, loading, claims, publisher, signals, endings, large } = options;

  /** With its values where they are to be. A run that begins with those of another has copies of them. */
  const createLarge = async (given: NewRun, body: Body, keep: () => Promise<NewRun>): Promise<CreateResult> => {
    // A crash in between leaves objects of a run that is not there.
    const request = await runOutside(keep);
    const result = await createKept(request, body, await large.whole(given.input));
    if (!('run' in result) || result.run.runId !== request.runId) large.forget(request.runId);
    return result;
  };

  // For each start a promise counts: those that only pass on another are left out.
  const createKept = (request: NewRun, body: Body, input?: string): Promise<CreateResult> => {
    // What the box itself has begun, it completes: a child of a step under way, a schedule that is due. Others run it.
    if (closing.aborted && request.parentRunId === null && request.trigger !== 'schedule')
      return Promise.reject(shuttingDown());
    const above = request.parentRunId === null ? undefined : live.get(request.parentRunId);
    const created = async (): Promise<CreateResult> => {
      // Cut off after its commit, it leaves a run that a repeat with the same key, or the sweep, takes up.
      const result = await journal.create(request);
      if (result.outcome === 'created') publisher.created(result.run);
      // Before it begins: a workflow that starts itself would otherwise stay ahead of its cancel for good.
      const isParentGone = above !== undefined && live.get(above.run.runId) !== above;
      if (isParentGone && (await withdrawOrphan(options, request, result))) return result;
      // Without a turn in between where there is nothing to prepare.
      if (result.outcome === 'created' && result.run.owner === owner)
        if (body.prepare) await begin(result.run, body, request.records ?? []);
        else loading.launch(result.run, body, request.records ?? [], input);
      if (result.outcome === 'created' && result.run.owner === null) signals.signal(result.run.runId);
      if (result.outcome === 'repeated' && result.run.owner === owner && !live.isHere(result.run.runId))
        void claims.claimRun(result.run.runId);
      return result;
    };
    return live.enter(request.runId, created);
  };

  const begin = async (run: RunRow, body: Body, records: JournalRecord[]): Promise<void> => {
    try {
      await body.prepare?.(records);
      loading.launch(run, body, records);
    } catch (error) {
      await endings.cancel(run.runId, error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  };

  return (run, body) => {
    const keep = run.kind === 'agent' ? undefined : large.keepStart(run);
    return keep ? createLarge(run, body, keep) : createKept(run, body);
  };
}

// --- internal ---

function shuttingDown(): BoxError {
  const message =
    'The box is shutting down and takes no more starts. Send it again: to another replica, or in a moment.';
  return new BoxError('shutting_down', message, { details: { retryAfter: 1 } });
}
