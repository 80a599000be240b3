import type { EndedRun, RunEnds } from '../../journal/ends.ts';
import { decodeText } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export function createEndedReader({ tables, query }: Statements): Pick<RunEnds, 'listEnded'> {
  return {
    async listEnded(before, { limit, after }) {
      const rows = await query(endedQuery(tables.runs, after !== undefined), [
        before,
        ...(after ? [after.endedAt, toStoredText(after.runId)] : []),
        limit,
      ]);
      return rows.map((row) => decodeText(row) as unknown as EndedRun);
    },
  };
}

/** Parameters: the time, the end and the id of the run it begins behind, the limit. */
export function endedQuery(runs: string, isBehind: boolean): string {
  return `
    select run_id as "runId", ended_at as "endedAt", seq as "seq" from ${runs}
    where ended_at < ? ${isBehind ? 'and (ended_at, run_id) > (?, ?)' : ''} order by ended_at, run_id limit ?`;
}
