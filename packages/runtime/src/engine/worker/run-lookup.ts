import type { RunRow } from '../journal/run.ts';
import type { RunWatch } from '../journal/watching.ts';

/** The row of a run; undefined: there is none. */
export type RunLookup = (runId: string) => Promise<RunRow | undefined>;

/** What is asked for while a look at the journal is under way shares the next one: one statement at a time, of a bounded size. */
export function createRunLookup(journal: Pick<RunWatch, 'getRuns'>): RunLookup {
  let asked = new Map<string, Asked[]>();
  let isLooking = false;

  const look = async (): Promise<void> => {
    while (asked.size > 0) {
      const all = [...asked];
      const batch = all.slice(0, MOST);
      asked = new Map(all.slice(MOST));
      try {
        const found = new Map((await journal.getRuns(batch.map(([runId]) => runId))).map((run) => [run.runId, run]));
        for (const [runId, askers] of batch) for (const { resolve } of askers) resolve(found.get(runId));
      } catch (error) {
        for (const [, askers] of batch) for (const { reject } of askers) reject(error as Error);
      }
    }
    isLooking = false;
  };

  return (runId) =>
    new Promise((resolve, reject) => {
      asked.set(runId, [...(asked.get(runId) ?? []), { resolve, reject }]);
      if (isLooking) return;
      isLooking = true;
      // What one turn of the event loop asks for goes together.
      queueMicrotask(() => void look());
    });
}

// --- internal ---

/** Rows of one statement: each may hold megabytes. */
const MOST = 100;

interface Asked {
  resolve(run: RunRow | undefined): void;
  reject(error: Error): void;
}
