import type { Engine } from '../engine/engine.ts';
import type { RunFilter, RunReader } from '../engine/journal.ts';
import { toRun } from './run.ts';
import type { Run } from './run.ts';

export interface RunPage {
  items: Run[];
  /** Pass it as `cursor` for the next page; null: there is none. */
  nextCursor: string | null;
}

export interface Runs {
  list(filter: RunFilter, page: { limit: number; cursor?: string }): Promise<RunPage>;
  /** Undefined: no such run. With `waitMs` the answer is held until the run is final, at most that long. */
  find(runId: string, waitMs?: number): Promise<Run | undefined>;
}

export function createRuns(reader: RunReader, engine: Pick<Engine, 'wait'>): Runs {
  return {
    async list(filter, { limit, cursor }) {
      const rows = await reader.listRuns(filter, {
        limit: limit + 1,
        ...(cursor === undefined ? {} : { before: cursor }),
      });
      const items = rows.slice(0, limit).map(toRun);
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.runId ?? null) : null };
    },
    async find(runId, waitMs = 0) {
      const row = await engine.wait(runId, waitMs);
      return row && toRun(row);
    },
  };
}
