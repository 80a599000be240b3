import type { StoreClock } from '../clock.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import { DEFAULT_TIMES } from '../limits.ts';
import type { RunReader } from '../journal/reading.ts';
import type { RunWatch } from '../journal/watching.ts';
import { real } from '../real.ts';
import { createListeners } from './listeners.ts';
import { createPoll } from './poll.ts';
import { createRunLookup } from './run-lookup.ts';

/** Those in this process who wait for a run to end or to change. */
export interface Watchers {
  /** The run has ended: they look again, or take the row, which is the run as its end left it. */
  ended(runId: string, row?: RunRow): void;
  /** It has changed otherwise. */
  changed(runId: string): void;
  /** Resolves when the run may have changed (a record, a frame, a signal, its status), or the signal aborts. */
  nextChange(runId: string, signal?: AbortSignal): Promise<void>;
  /** Resolves when the last run of its chain is final, or with what that is once the time is up or the signal aborts. */
  wait(runId: string, timeoutMs: number, options?: WaitOptions): Promise<RunRow | undefined>;
}

export interface WaitOptions {
  /** The run is in this process, so its end will be notified: it is not looked at first. */
  isHere?: boolean;
  signal?: AbortSignal | undefined;
}

export interface WatchersOptions {
  journal: RunWatch & Pick<RunReader, 'getLastRun'>;
  clock: Pick<StoreClock, 'now'>;
  /** Milliseconds between two looks at the journal. Default 500; for changes half of it. */
  pollMs: number | undefined;
  /** Most runs that one statement looks at by name. Default 1,000. */
  most?: number;
}

/**
 * Notified by this process and by the doorbell; and since neither may know what another replica did, the journal is
 * asked too, for all who wait together. Only who is notified of a change reads that run.
 */
export function createWatchers({
  journal,
  clock,
  pollMs = DEFAULT_TIMES.pollMs,
  most = MOST,
}: WatchersOptions): Watchers {
  const ends = createListeners<RunRow | undefined>();
  const changes = createListeners<void>();
  const find = createRunLookup(journal);
  const findLast = async (runId: string): Promise<RunRow | undefined> => {
    const run = await find(runId);
    return run?.continuedTo === null ? run : journal.getLastRun(runId);
  };
  /** How those stood whose changes are waited for when last seen; kept for a while for who waits again. */
  const versions = new Map<string, { version: string; at: number }>();
  /** Of those that wait for an end, those not looked at by name since the last time around. */
  let rest: string[] = [];
  let lookedAt = clock.now();

  /** By the order of ends, and some of all that wait by name: an end may have been committed late. */
  const listEnded = async (): Promise<Set<string>> => {
    const since = lookedAt - LATE_MS;
    const now = clock.now();
    if (rest.length === 0) rest = ends.ids();
    const named = rest.splice(0, most);
    const latest = rest.length > 0 ? await journal.listEndedSince(since, MOST_ENDED) : [];
    const standings = new Map((await journal.listStandings(named)).map((one) => [one.id, one.status]));
    lookedAt = now;
    const isOver = (id: string): boolean => isFinal(standings.get(id) ?? 'cancelled');
    return new Set([...latest, ...named.filter(isOver)].filter((id) => ends.has(id)));
  };

  const lookForEnds = async (): Promise<void> => {
    const found = await listEnded();
    await Promise.all([...found].map(async (id) => ends.call(id, await find(id))));
  };

  const lookForChanges = async (): Promise<void> => {
    const ids = changes.ids();
    const at = real.performanceNow();
    for (let from = 0; from < ids.length; from += most) {
      const page = ids.slice(from, from + most);
      const found = new Map((await journal.listStandings(page)).map((one) => [one.id, one]));
      for (const id of page) {
        const standing = found.get(id);
        // One that was not seen before may have changed since its caller read it.
        const isSame = standing && versions.get(id)?.version === standing.version && !isFinal(standing.status);
        if (standing) versions.set(id, { version: standing.version, at });
        if (!isSame) changes.call(id, undefined);
      }
    }
    for (const [id, seen] of versions) if (seen.at < at - KEPT_MS) versions.delete(id);
  };

  const endPoll = createPoll(lookForEnds, pollMs, () => ends.size > 0);
  const changePoll = createPoll(lookForChanges, pollMs / 2, () => changes.size > 0);

  return {
    ended(runId, row) {
      ends.call(runId, row);
      changes.call(runId, undefined);
    },
    changed: (runId) => changes.call(runId, undefined),
    async nextChange(runId, signal) {
      const { promise } = changes.next(runId, { ms: LONGEST_MS, signal });
      changePoll.start();
      await promise;
    },
    async wait(first, timeoutMs, { isHere = false, signal } = {}) {
      const until = real.performanceNow() + timeoutMs;
      let runId = first;
      for (let isNotified = isHere; ; isNotified = false) {
        const ms = signal?.aborted ? 0 : until - real.performanceNow();
        if (ms <= 0) return findLast(runId);
        // Listening begins before the look: an end in between is not missed.
        const next = ends.next(runId, { ms, signal });
        endPoll.start();
        try {
          const run = isNotified ? undefined : await findLast(runId);
          if (!isNotified && (!run || isFinal(run.status))) return run;
          const isOther = run !== undefined && run.runId !== runId;
          const ended = isOther ? run : await next.promise;
          if (ended && !isOther && ended.continuedTo === null) return ended;
          runId = isOther ? run.runId : (ended?.continuedTo ?? runId);
        } finally {
          next.stop();
        }
      }
    },
  };
}

// --- internal ---

const MOST = 1_000;

/** Ends that one look takes by their time; what is beyond is found by name. */
const MOST_ENDED = 10_000;

/** For so long after its time an end may become visible, by the order of ends. */
const LATE_MS = 2_000;

/** For so long a run whose changes no caller waits for is remembered, in milliseconds. */
const KEPT_MS = 5_000;

/** After so long who waits for a change looks all the same, in milliseconds: a wait that was forgotten ends. */
const LONGEST_MS = 300_000;
