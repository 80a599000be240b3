import type { Log } from '../../log.ts';
import type { Body } from '../body.ts';
import { CodeNotKeptError, RunCancelledError } from '../errors.ts';
import type { Journal } from '../journal.ts';
import { readCancel } from '../journal/cancel.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { isGone } from '../large-values.ts';
import { isStoreDown, persist } from '../persist.ts';
import type { Driver } from '../run/driver.ts';
import { nextOfLock } from '../run/ending.ts';
import { Execution } from '../run/execution.ts';
import { endOf, parentCancelled } from '../run/outcome.ts';
import { toCodeRetry, toCodeWait } from './code-waits.ts';
import type { Endings } from './endings.ts';
import { createHistories } from './histories.ts';
import type { LiveRuns } from './live-runs.ts';
import { hasOutlived } from './outlived.ts';
import type { Publisher } from './publisher.ts';
import type { Replicas } from './replicas.ts';
import type { Signals } from './signals.ts';
import { isSuspect, isSuspectAgain, POISON_LIMIT, runPoisoned } from './suspects.ts';

/**
 * What is known of a run whose code is looked for; of one that is yet to be, its kind and name. `codeHash`: the code it is to
 * have, where that can be had; without it, the newest.
 */
export type ResolvedRun = Pick<RunRow, 'kind' | 'name'> & Partial<RunRow>;

/** How runs get into memory. */
export interface Loading {
  /** Continues a run taken from the journal. `isolate`: what is done with one that may have killed its process. */
  resume(run: RunRow, isolate?: (run: RunRow) => void): Promise<void>;
  /**
   * Begins the run, or goes on with it, unless it is in memory in this epoch or a later one.
   * @param input what it was started with, where the row has a reference in its place
   */
  launch(run: RunRow, body: Body, records: JournalRecord[], input?: string): void;
}

export interface LoadingOptions {
  journal: Journal;
  log: Log;
  resolve(run: ResolvedRun): Promise<Body>;
  driver: Driver;
  live: LiveRuns;
  /** Begins another process for the run. Undefined: suspects go on in this one. */
  isolate: ((run: RunRow) => void) | undefined;
  publisher: Publisher;
  endings: Endings;
  replicas: Pick<Replicas, 'hasCodeOf'>;
  signals: Pick<Signals, 'ring'>;
}

export function createLoading(options: LoadingOptions): Loading {
  const { journal, log, driver, live, publisher, endings, replicas, signals } = options;
  const { leaseMs, clock } = driver;
  const isReplaying = (runId: string): boolean => live.get(runId)?.isReplaying === true;
  const histories = createHistories({ journal, leaseMs, isReplaying });

  const launch: Loading['launch'] = (run, body, records, input = run.input) => {
    if (live.hasEpoch(run)) return;
    const execution = new Execution({ run, body, records, driver });
    live.add(execution);
    if (run.epoch === 1) publisher.started(run);
    else publisher.taken(run);
    execution.launch(input);
  };

  /** Its parent was cancelled, and the process that started it died before it could see that. */
  const isOrphan = async ({ parentRunId, seq, epoch, closePolicy }: RunRow): Promise<boolean> => {
    // Its first process may have died before it looked. Later ones have.
    if (parentRunId === null || (seq > 0 && epoch > 2)) return false;
    return hasOutlived(closePolicy, await persist(() => journal.getRun(parentRunId), leaseMs));
  };

  /** Until someone has its code: a replica that comes up with it, or keeps it, says so. */
  const waitForCode = async (run: RunRow, error: CodeNotKeptError): Promise<void> => {
    const { codeHash } = run;
    const entry = toCodeWait(run, error);
    // Not stored, it is a run we hold and do not have: the sweep gives it back.
    const stored = await journal.append(entry).catch(() => undefined);
    if (stored?.outcome !== 'appended') return;
    publisher.appended(entry, stored, { ...run, status: 'waiting', waitingFor: entry.patch.waitingFor ?? null });
    if (codeHash === null) return;
    // One that came up in between has not seen it wait.
    const isThere = async (): Promise<boolean> =>
      (await replicas.hasCodeOf(run)) ||
      options.resolve(run).then(
        () => true,
        (again: unknown) => !(again instanceof CodeNotKeptError),
      );
    if (await isThere().catch(() => true)) await journal.code.wake([codeHash]).catch(() => {});
  };

  const load = async (run: RunRow): Promise<void> => {
    try {
      // Marked before its code is loaded: that may be what kills the process.
      if (isSuspect(run) && !(await driver.mark(run, []))) return;
      // First: without its code there is no use in its history, which may be long.
      if (await isOrphan(run)) return void (await endings.cancel(run.runId, parentCancelled()));
      const body = await options.resolve(run);
      const records = run.seq > 0 ? await histories.load(run.runId) : [];
      const reason = body.whenFound?.(records);
      if (reason) await endings.cancel(run.runId, reason);
      else {
        const input = await readInput(run, driver);
        await body.prepare?.(records);
        launch(run, body, records, input);
      }
    } catch (error) {
      if (run.cancel !== null) return void (await endings.cancel(run.runId, new RunCancelledError()).catch(() => {}));
      if (error instanceof CodeNotKeptError) return waitForCode(run, error);
      const what = isStoreDown(error) ? 'what it began with cannot be read' : 'its code cannot be loaded';
      log.warn(`The run waits: ${what}.`, { runId: run.runId, name: run.name, error });
      // Not stored, it is a run we hold and do not have: the sweep gives it back.
      await journal.append(toCodeRetry(run, error, clock.now())).catch(() => {});
    }
  };

  /** Another replica has the code of the run, and this one has not: it is given back. */
  const isLeftToOthers = async (run: RunRow): Promise<boolean> => {
    // Who cannot find out keeps to what it has.
    if (!(await replicas.hasCodeOf(run).catch(() => false))) return false;
    const { runId, epoch, seq } = run;
    const entry = { runId, epoch, seq, records: [], patch: { release: true }, durability: 'process' as const };
    // Not stored, it is a run we hold and do not have: the sweep gives it back.
    await journal.append(entry).catch(() => {});
    signals.ring('due', runId);
    return true;
  };

  const poison = async (run: RunRow): Promise<void> => {
    const { runId, name, epoch, seq } = run;
    const cancel = readCancel(run);
    log.error(`The run ends as ${cancel?.status ?? 'failed'}: it has killed its process too often.`, { runId, name });
    try {
      if (run.closesChildren !== null) await persist(() => endings.closeChildren(runId), leaseMs);
    } catch (error) {
      // It is a run we hold and do not have: the sweep gives it back, and whoever takes it tries again.
      return log.error('The run has not ended: the runs below it cannot be looked at.', { runId, name, error });
    }
    // Cancelled before, it ends as that, as it does when the time to clean up is over.
    const end = endOf({ error: runPoisoned(run) }, driver.limits.resultBytes);
    const patch = cancel ? { ...end, status: cancel.status, error: cancel.error } : end;
    const entry = { runId, epoch, seq, records: [], patch, durability: 'synced' as const, ...nextOfLock(run) };
    const result = await persist(() => journal.append(entry), leaseMs).catch(
      (error: unknown) => void log.error('The end of a run is not recorded.', { error }),
    );
    if (result?.outcome !== 'appended') return;
    const ended = { ...run, ...patch, endedAt: result.at };
    publisher.run('run.ended', ended);
    publisher.ended(ended);
    endings.left(run, 'ended', result.promoted ? { promoted: result.promoted } : {});
  };

  return {
    launch,
    async resume(run, isolate = options.isolate) {
      if (live.hasEpoch(run)) return;
      // On its way from here to its end, without a gap in which it would be claimed once more.
      await live.arrive(run.runId, async () => {
        if (await isLeftToOthers(run)) return;
        if (isSuspect(run) && run.crashCount >= POISON_LIMIT) return poison(run);
        if (isolate && isSuspectAgain(run)) return isolate(run);
        return load(run);
      });
    },
  };
}

// --- internal ---

/** One that is gone is what the code cannot read: the run is blocked. */
async function readInput({ input }: RunRow, { large }: Driver): Promise<string> {
  try {
    return await large.whole(input);
  } catch (error) {
    if (isGone(error)) return input;
    throw error;
  }
}
