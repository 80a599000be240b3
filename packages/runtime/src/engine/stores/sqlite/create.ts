import type { RunRow } from '../../journal/run.ts';
import type { CreateResult, NewRun } from '../../journal/starts.ts';
import { createdRun } from '../sql/rows.ts';
import { isPlainCreate } from '../sql/starting.ts';
import type { Starting } from '../sql/starting.ts';
import type { SqliteRuns } from './runs.ts';
import type { RunScript } from './script.ts';

/** To be called in a transaction. */
export function prepareCreate(
  runs: SqliteRuns,
  { starting, runScript }: { starting: Starting; runScript: RunScript },
): (run: NewRun, now: number) => CreateResult {
  return (run, now) => {
    if (!isPlainCreate(run)) return runScript(starting.create(run), now);
    const row = createdRun(run, now);
    return { outcome: 'created', run: runs.insert(row) ? row : (runs.find(run.runId) as RunRow) };
  };
}
