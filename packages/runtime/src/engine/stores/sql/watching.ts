import type { RunStanding, RunWatch } from '../../journal/watching.ts';
import { RUN_SELECT, decodeText, toRunRow } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export function createRunWatch({ tables, query, isAmong, frameCount }: Statements): RunWatch {
  const { runs, queue } = tables;
  // What is published begins with a number of its own.
  const state = `coalesce(substr(state, 1, 12), '')`;
  const version = ['seq', 'signals', frameCount, 'epoch', 'status', state].join(` || ' ' || `);
  const fields = `run_id as "runId", status as "status", ${version} as "version"`;
  const byId = `select run_id as "id", ${fields} from ${runs} where ${isAmong('run_id')}`;
  // Whoever waits for a start that has queued knows its trigger alone.
  const byTrigger = `
    select trigger_id as "id", ${fields} from ${runs} where ${isAmong('trigger_id')}
    union all
    select trigger_id, null, 'queued', 'queued' from ${queue} where ${isAmong('trigger_id')}`;
  const rows = `select ${RUN_SELECT} from ${runs} where ${isAmong('run_id')}`;
  const ended = `
    select run_id as "runId" from ${runs} where ended_at is not null and ended_at >= ?
    order by ended_at desc limit ?`;
  return {
    async listStandings(ids) {
      if (ids.length === 0) return [];
      const found = (await query(byId, [toList(ids)])).map(toStanding);
      if (found.length === ids.length) return found;
      const known = new Set(found.map(({ id }) => id));
      const others = toList(ids.filter((id) => !known.has(id)));
      return [...found, ...(await query(byTrigger, [others, others])).map(toStanding)];
    },
    async listEndedSince(time, limit) {
      const found = await query(ended, [Math.floor(time), limit]);
      return found.map((row) => decodeText(row).runId as string);
    },
    async getRuns(runIds) {
      if (runIds.length === 0) return [];
      return (await query(rows, [toList(runIds)])).map(toRunRow);
    },
  };
}

// --- internal ---

/** One parameter, so that the statement has one text for lists of all lengths. */
function toList(ids: readonly string[]): string {
  return JSON.stringify(ids.map(toStoredText));
}

function toStanding(row: Record<string, string | number | null>): RunStanding {
  return decodeText(row) as unknown as RunStanding;
}
