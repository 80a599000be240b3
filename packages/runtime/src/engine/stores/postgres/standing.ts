import type { SqlClient } from '../../../stores/sql.ts';
import type { Append, AppendResult } from '../../journal/appends.ts';
import type { RunRow } from '../../journal/run.ts';
import { listRefused } from './append.ts';
import { NOW } from './sql.ts';
import { RUN_SELECT, toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import type { Tables } from '../sql/tables.ts';
import { fromStoredText, toStoredText } from '../sql/text.ts';
import { judgeRefusal, toAppended, toStanding } from '../sql/verdict.ts';
import type { Standing } from '../sql/verdict.ts';
import { endsIn } from '../sql/write.ts';

/** How appends stand that were refused, or whose outcome is unknown. Each run may occur once. */
export interface Standings {
  /** The journal would still take the append: it has not happened. */
  isOpen(entry: Append): boolean;
  parentOf(entry: Append): string | null;
  answer(entry: Append): AppendResult;
}

export async function readStandings(sql: SqlClient, tables: Tables, entries: Append[]): Promise<Standings> {
  const found = await readRows(sql, tables, entries);
  const judge = (entry: Append): AppendResult => {
    const at = found.get(entry.runId);
    return judgeRefusal(entry, at?.standing, at?.now ?? 0);
  };
  // A repeat gets the first answer again.
  const repeats = entries.filter((entry) => judge(entry).outcome === 'appended');
  const [tokens, promoted] = await Promise.all([
    readTokens(
      sql,
      tables,
      repeats.filter((entry) => entry.hooks?.length),
    ),
    readRuns(
      sql,
      tables,
      repeats.flatMap((entry) => (endsIn(entry.patch) && entry.nextRunId) || []),
    ),
  ]);
  return {
    isOpen: (entry) => judge(entry).outcome === 'conflict' && found.get(entry.runId)?.standing.seq === entry.seq,
    parentOf: (entry) => found.get(entry.runId)?.standing.parentRunId ?? null,
    answer(entry) {
      const result = judge(entry);
      if (result.outcome !== 'appended') return result;
      const next = endsIn(entry.patch) && entry.nextRunId ? promoted.get(entry.nextRunId) : undefined;
      return toAppended(result.at, listRefused(entry, tokens.get(entry.runId)), next);
    },
  };
}

export async function readRuns(sql: SqlClient, { runs }: Tables, runIds: string[]): Promise<Map<string, RunRow>> {
  if (runIds.length === 0) return new Map();
  const text = `select ${RUN_SELECT} from ${runs} where run_id = any($1::text[])`;
  const rows = (await sql.query<StoredRow>(text, [runIds.map(toStoredText)])).map(toRunRow);
  return new Map(rows.map((row) => [row.runId, row]));
}

// --- internal ---

interface StandingAt {
  standing: Standing;
  now: number;
}

type StandingRow = StoredRow & { now: number } & { recordIds: string[] | null };

async function readRows(sql: SqlClient, tables: Tables, entries: Append[]): Promise<Map<string, StandingAt>> {
  if (entries.length === 0) return new Map();
  const rows = await sql.query<StandingRow>(standingQuery(tables), [
    entries.map((entry) => toStoredText(entry.runId)),
    entries.map((entry) => entry.seq),
    entries.map((entry) => entry.records.length),
  ]);
  return new Map(rows.map((row) => [fromStoredText(row.runId as string), toStandingAt(row)]));
}

function toStandingAt({ recordIds, now, ...run }: StandingRow): StandingAt {
  return { standing: toStanding(run, (recordIds ?? []).map(fromStoredText)), now };
}

/** The tokens of the hooks of the runs. */
async function readTokens(sql: SqlClient, { hooks }: Tables, entries: Append[]): Promise<Map<string, Set<string>>> {
  const tokens = new Map<string, Set<string>>();
  if (entries.length === 0) return tokens;
  const rows = await sql.query<{ id: string; token: string }>(
    `select run_id as id, token from ${hooks} where run_id = any($1::text[])`,
    [entries.map((entry) => toStoredText(entry.runId))],
  );
  for (const row of rows) {
    const id = fromStoredText(row.id);
    tokens.set(id, (tokens.get(id) ?? new Set()).add(fromStoredText(row.token)));
  }
  return tokens;
}

/** How the runs of refused appends stand. Parameters: run ids, first positions, numbers of records. */
function standingQuery({ runs, events }: Tables): string {
  return `
    with wanted as (select * from unnest($1::text[], $2::int4[], $3::int4[]) as wanted (id, start, count))
    select run_id as "runId", parent_run_id as "parentRunId", status, epoch, seq, output, error, ${NOW} as now,
      (select json_agg(e.record_id order by e.seq) from ${events} e
        where e.run_id = wanted.id and e.seq >= start and e.seq < start + count) as "recordIds"
    from wanted join ${runs} on run_id = id`;
}
