import type { Log } from '../../log.ts';
import type { Body } from '../body.ts';
import { newRunId } from '../ids.ts';
import type { Journal } from '../journal.ts';
import type { Append } from '../journal/appends.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { persist } from '../persist.ts';
import type { Driver } from '../run/driver.ts';
import { Execution } from '../run/execution.ts';
import { endOf, parentCancelled, runPoisoned } from '../run/outcome.ts';
import type { Endings } from './endings.ts';
import type { LiveRuns } from './live-runs.ts';
import type { Publisher } from './publisher.ts';
import { toText } from '../values/text.ts';
import { isSuspect, POISON_LIMIT } from './suspects.ts';
import type { Suspects } from './suspects.ts';

/** What is known of a run whose code is looked for; of one that is yet to be, its kind and name. */
export type ResolvedRun = Pick<RunRow, 'kind' | 'name'> & Partial<RunRow>;

/** How runs get into memory. */
export interface Loading {
  /** Continues a run taken from the journal; a suspect once it is its turn. */
  resume(run: RunRow): Promise<void>;
  /** Begins the run, or goes on with it, unless it is in memory in this epoch or a later one. */
  launch(run: RunRow, body: Body, records: JournalRecord[]): void;
}

export interface LoadingOptions {
  journal: Journal;
  log: Log;
  resolve(run: ResolvedRun): Promise<Body>;
  driver: Driver;
  live: LiveRuns;
  suspects: Suspects;
  publisher: Publisher;
  endings: Endings;
}

export function createLoading(options: LoadingOptions): Loading {
  const { journal, log, driver, live, suspects, publisher, endings } = options;
  const { leaseMs, clock } = driver;

  const launch = (run: RunRow, body: Body, records: JournalRecord[]): void => {
    if (live.hasEpoch(run)) return;
    const execution = new Execution({ run, body, records, driver });
    live.add(execution);
    if (run.epoch === 1) publisher.started(run);
    execution.launch();
  };

  /** Its parent was cancelled, and the process that started it died before it could see that. */
  const isOrphan = async ({ parentRunId, seq }: RunRow): Promise<boolean> => {
    if (parentRunId === null || seq > 0) return false;
    return (await persist(() => journal.getRun(parentRunId), leaseMs))?.status === 'cancelled';
  };

  const load = async (run: RunRow): Promise<void> => {
    try {
      // Marked before its code is loaded: that may be what kills the process.
      if (isSuspect(run) && !(await driver.mark(run.runId, run.epoch, []))) return;
      // First: without its code there is no use in its history, which may be long.
      if (await isOrphan(run)) return void (await endings.cancel(run.runId, parentCancelled()));
      const body = await options.resolve(run);
      const records = run.seq > 0 ? await persist(() => journal.getRecords(run.runId), leaseMs) : [];
      const reason = body.whenFound?.(records);
      if (reason) await endings.cancel(run.runId, reason);
      else {
        await body.prepare?.(records);
        launch(run, body, records);
      }
    } catch (error) {
      log.warn('The run waits: its code cannot be loaded.', { runId: run.runId, name: run.name, error });
      // Not stored, it is a run we hold and do not have: the sweep gives it back.
      await journal.append(unavailable(run, error, clock.now())).catch(() => {});
    }
  };

  const poison = async (run: RunRow): Promise<void> => {
    log.error('The run ends as failed: it has killed its process too often.', { runId: run.runId, name: run.name });
    const { runId, epoch, seq, serialKey } = run;
    const patch = endOf({ error: runPoisoned(run) }, driver.limits.resultBytes);
    const next = serialKey === null ? {} : { nextRunId: newRunId() };
    const entry = { runId, epoch, seq, records: [], patch, durability: 'synced' as const, ...next };
    const result = await persist(() => journal.append(entry), leaseMs).catch(
      (error: unknown) => void log.error('The end of a run is not recorded.', { error }),
    );
    if (result?.outcome !== 'appended') return;
    publisher.run('run.ended', run, 'failed');
    publisher.ended({ ...run, ...patch, endedAt: result.at });
    endings.left(run, 'ended', result.promoted ? { promoted: result.promoted } : {});
  };

  return {
    launch,
    async resume(run) {
      if (live.hasEpoch(run)) return;
      if (!isSuspect(run)) return live.arrive(run.runId, () => load(run));
      if (run.crashCount >= POISON_LIMIT) return poison(run);
      suspects.add(run, async () => {
        await live.arrive(run.runId, () => load(run));
        if (!live.get(run.runId)) suspects.pass(run.runId);
      });
    },
  };
}

// --- internal ---

/** How long a run whose code cannot be loaded waits before the next try, at first and at most, in milliseconds. */
const UNAVAILABLE_RETRY_MS = 5_000;
const UNAVAILABLE_MOST_MS = 60_000;

/** Twice as long each time: thousands of runs whose workflow was removed would keep a box busy for good. */
function unavailable(run: RunRow, error: unknown, now: number): Append {
  const message = toText(error);
  const { type, tries = 0 } = JSON.parse(run.waitingFor ?? '{}') as { type?: string; tries?: number };
  const failed = type === 'code' ? tries + 1 : 1;
  const waitingFor = JSON.stringify({ type: 'code', message, tries: failed });
  const wakeAt = now + Math.min(UNAVAILABLE_MOST_MS, UNAVAILABLE_RETRY_MS * 2 ** (failed - 1));
  const patch = { status: 'waiting' as const, wakeAt, waitingFor, release: true };
  return { runId: run.runId, epoch: run.epoch, seq: run.seq, records: [], patch, durability: 'process' };
}
