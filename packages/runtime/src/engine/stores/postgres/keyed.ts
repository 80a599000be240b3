import type { SqlClient } from '../../../stores/sql.ts';
import type { NewRun } from '../../journal/starts.ts';
import type { CommitRow } from './append.ts';
import { CREATE_COLUMNS, toCreateRow, toTable } from './columns.ts';
import type { Column } from './columns.ts';
import { isRolledBack } from './errors.ts';
import { createRuns } from './parts.ts';
import { lockStartKey } from './serial.ts';
import { NOW } from './sql.ts';
import type { Query } from './sql.ts';
import type { PostgresWriter } from './write.ts';
import { createdRun } from '../sql/rows.ts';
import type { StoredValue } from '../sql/rows.ts';
import { keptWithOf } from '../sql/starting.ts';
import type { Tables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';
import type { Write, Written } from '../sql/write.ts';

/** Commits starts. Undefined: nothing was written, and it takes a transaction to find out why. */
export type WriteStarts = (writes: Write[]) => Promise<(Written | Error | undefined)[]>;

/**
 * Answers a function that commits starts in one statement that waits for no lock: `keyedQuery`, `toEnterQuery`. No two of them may
 * have the same key or lock.
 */
export function createStartWriter(
  sql: SqlClient,
  readBack: PostgresWriter['readBack'],
  toQuery: (runs: NewRun[]) => Query,
): WriteStarts {
  return async (writes) => {
    const runs = writes.flatMap((write) => (write.type === 'create' ? [write.run] : []));
    const { text, params, prepared } = toQuery(runs);
    let rows: CommitRow[] = [];
    try {
      rows = await sql.query<CommitRow>(text, params, { prepared });
    } catch (error) {
      // What the database undid, each of them meets alone, if it is its own.
      if (!isRolledBack(error)) return readBack(writes, error);
    }
    const at = new Map(rows.map(({ id, now }) => [id, now]));
    return runs.map((run) => {
      const now = at.get(toStoredText(run.runId));
      return now == null ? undefined : { outcome: 'created', run: createdRun(run, now) };
    });
  };
}

/**
 * Creates the runs whose idempotency keys are not used, and by no transaction at this moment. Every other use of a key locks it first,
 * so what they have found of it stays true.
 */
export function keyedQuery(tables: Tables, runs: NewRun[]): Query {
  const given = toTable(COLUMNS, runs.map(toRow), 0);
  const mine = lockStartKey(tables, 'key', 'pg_try_advisory_xact_lock');
  const text = `
    with starts as materialized (select given_rows.*, ${NOW} as now, ${mine} as is_mine from ${given.text}),
    used as (
      insert into ${tables.keys} (key, digest, start_id, created_at, kept_with)
      select key, digest, run_id, now, kept_with from starts where is_mine
      on conflict (key) do nothing returning start_id)
    ${createRuns(tables, { from: '(select starts.* from starts, used where start_id = run_id) as given', name })}`;
  // All that a start with a key may lack is a parent and marks: the texts are few.
  return { text, params: given.params, prepared: true };
}

// --- internal ---

const COLUMNS: Column[] = [...CREATE_COLUMNS, ['key', 'text'], ['digest', 'text'], ['kept_with', 'text']];

function toRow(run: NewRun): StoredValue[] {
  const { key, digest } = run.idempotency ?? { key: '', digest: '' };
  const keptWith = keptWithOf(run, run.runId);
  return [...toCreateRow(run), toStoredText(key), toStoredText(digest), keptWith && toStoredText(keptWith)];
}

const name = (column: string): string => column;
