import type { AroundStep } from '../body.ts';
import type { StoreClock } from '../clock.ts';
import type { Ambient } from '../handle.ts';
import type { Journal } from '../journal.ts';
import type { NewChunk } from '../journal/chunks.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import type { LargeValues } from '../large-values.ts';
import type { Limits } from '../limits.ts';
import { persist } from '../persist.ts';
import type { Driver } from '../run/driver.ts';
import { createTurns } from '../run/turns.ts';
import type { Endings } from './endings.ts';
import type { Publisher } from './publisher.ts';
import type { Signals } from './signals.ts';
import type { StartMark } from './suspects.ts';
import type { Watchers } from './watchers.ts';

export interface LiveDriverOptions {
  journal: Journal;
  clock: StoreClock;
  limits: Limits;
  large: LargeValues;
  ambient: Ambient;
  leaseMs: number;
  around: AroundStep | undefined;
  /** The process has no other run: what kills it is the run. */
  isAlone(): boolean;
  publisher: Publisher;
  watchers: Watchers;
  signals: Signals;
  endings: Endings;
}

/** The driver of all the runs of a process: they write to its journal, and their steps have effects. */
export function createLiveDriver(options: LiveDriverOptions): Driver {
  const { journal, leaseMs, around, isAlone, publisher, watchers, signals, endings } = options;
  const writeChunks = async (runId: string, epoch: number | null, chunks: NewChunk[]): Promise<number | undefined> => {
    // Repeated even when the first time may have been stored: a frame twice is what a repeated step gives too.
    const last = await persist(() => journal.chunks.write(runId, epoch, chunks), leaseMs);
    watchers.changed(runId);
    signals.ring('written', runId);
    return last;
  };
  return {
    clock: options.clock,
    turns: createTurns(),
    limits: options.limits,
    large: options.large,
    ambient: options.ambient,
    leaseMs,
    append: (entry) => journal.append(entry),
    publish(entry, result, run) {
      publisher.appended(entry, result, run);
      if (entry.patch.state === undefined) return;
      watchers.changed(entry.runId);
      signals.ring('written', entry.runId);
    },
    mark({ runId, epoch, seq }, steps) {
      const mark: StartMark = { seq, steps };
      return persist(() => journal.mark(runId, epoch, JSON.stringify(mark), isAlone()), leaseMs);
    },
    writeChunks,
    async writeForeignChunks(runId, chunks) {
      if ((await writeChunks(runId, null, chunks)) !== undefined) return true;
      // What the run goes on as writes on to the stream.
      const last = await persist(() => journal.getLastRun(runId), leaseMs);
      return !!last && last.runId !== runId && (await writeChunks(last.runId, null, chunks)) !== undefined;
    },
    listEvents: (runId, waits) => persist(() => journal.hooks.listEvents(runId, waits), leaseMs),
    async resumeHook(...given) {
      const result = await persist(() => journal.hooks.resume(...given), leaseMs);
      publisher.decided(result, given[2]);
      return result;
    },
    findRun: (runId) => persist(() => journal.getRun(runId), leaseMs),
    findEnded: (ids) => persist(() => findEnded(journal, ids), leaseMs),
    closeChildren: (runId) => persist(() => endings.closeChildren(runId), leaseMs),
    cancelChildren: (run) => persist(() => endings.cancelChildren(run), leaseMs),
    attempt: around ?? ((_, run) => run()),
    left: (run, how, left) => endings.left(run, how, left),
  };
}

// --- internal ---

/** Rows of one statement: each may hold megabytes. */
const ROWS = 100;

/** Only the rows of those that are over are read: a parent of a thousand children looks once for each that ends. */
async function findEnded(journal: Journal, ids: string[]): Promise<Map<string, RunRow | undefined>> {
  const standings = new Map((await journal.listStandings(ids)).map((one) => [one.id, one]));
  const over = [...standings.values()].filter(({ status }) => isFinal(status));
  const rows = new Map<string, RunRow>();
  for (let from = 0; from < over.length; from += ROWS) {
    const page = over.slice(from, from + ROWS).flatMap(({ runId }) => runId ?? []);
    for (const row of await journal.getRuns(page)) rows.set(row.runId, row);
  }
  const gone = ids.filter((id) => !standings.has(id)).map((id) => ({ id, runId: id }));
  const ended = new Map<string, RunRow | undefined>();
  for (const { id, runId } of [...gone, ...over]) {
    const row = runId === null ? undefined : rows.get(runId);
    // One that has continued is the last of its chain; of one that was deleted the chain may go on.
    const last = runId === null || row?.continuedTo === null ? row : await journal.getLastRun(runId);
    if (!last || isFinal(last.status)) ended.set(id, last);
  }
  return ended;
}
