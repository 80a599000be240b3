import type { SqlClient } from '../../stores/sql.ts';
import { createGroupCommit } from '../group-commit.ts';
import { real } from '../real.ts';
import type { AppendResult, Journal, RunRow } from '../journal.ts';
import { claimQuery, claimRunQuery, renewQuery } from './postgres-claim.ts';
import { migratePostgres } from './postgres-schema.ts';
import { NOW } from './postgres-sql.ts';
import { createPostgresWriter } from './postgres-write.ts';
import { expireOthersQuery, listQuery, nextWakeQuery } from './queries.ts';
import { RECORD_SELECT, RUN_SELECT, toRecord, toRunRow } from './rows.ts';
import type { StoredRow } from './rows.ts';
import { toStoredText } from './text.ts';
import { runIdOf, sizeOf } from './write.ts';
import type { Write, Written } from './write.ts';

export interface PostgresJournalOptions {
  /** Stays open when the journal is closed. */
  sql: SqlClient;
  /** The database schema that holds the journal's tables. Default "journal". */
  schema?: string;
}

/** A journal in a Postgres database, or in PGlite. Throws with the code `database_newer` when a newer release made the schema. */
export async function openPostgresJournal(options: PostgresJournalOptions): Promise<Journal> {
  const schema = options.schema ?? 'journal';
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new Error(`"${schema}" cannot be the journal's schema. Use small letters, digits and underscores.`);
  await migratePostgres(options.sql, schema);
  return createPostgresJournal(options.sql, schema);
}

// --- internal ---

const COMMIT_LIMITS = { maxEntries: 1_000, maxBytes: 8 * 1024 * 1024 };

const RENEW_PASSES = 20;
const RENEW_PAUSE_MS = 10;

function createPostgresJournal(sql: SqlClient, schema: string): Journal {
  const tables = { runs: `${schema}.runs`, events: `${schema}.run_events` };
  const writer = createPostgresWriter(sql, tables);
  const commits = createGroupCommit<Write, Written>(writer, { ...COMMIT_LIMITS, sizeOf, keyOf: runIdOf });
  const queries = {
    expireOthers: `with given as (select ${NOW} as now, $1::text as owner) ${expireOthersQuery(tables.runs)}`,
    claim: claimQuery(tables),
    claimRun: claimRunQuery(tables),
    renew: renewQuery(tables),
    nextWake: `with given as (select ${NOW} as now) ${nextWakeQuery(tables.runs)}`,
    run: `select ${RUN_SELECT} from ${tables.runs} where run_id = $1`,
    records: `select ${RECORD_SELECT} from ${tables.events} where run_id = $1 order by seq`,
  };

  return {
    adapter: 'postgres',
    create: (run) => commits.add({ type: 'create', run }) as Promise<RunRow>,
    append: (entry) => commits.add({ type: 'append', entry }) as Promise<AppendResult>,
    async claim(claim) {
      const owner = toStoredText(claim.owner);
      if (claim.takeover) await sql.query(queries.expireOthers, [owner]);
      const rows = await sql.query<StoredRow>(queries.claim, [owner, claim.leaseMs, claim.limit]);
      return rows.sort(byClaimOrder).map((row) => toRunRow(withoutRank(row)));
    },
    async claimRun(runId, { owner, leaseMs }) {
      const [row] = await sql.query<StoredRow>(queries.claimRun, [toStoredText(owner), leaseMs, toStoredText(runId)]);
      return row && toRunRow(row);
    },
    renew: (owner, leaseMs) => renew(sql, queries.renew, [toStoredText(owner), leaseMs]),
    async nextWake() {
      const [row] = await sql.query<{ wake: number | null; now: number }>(queries.nextWake);
      return row?.wake == null ? undefined : Math.max(0, row.wake - row.now);
    },
    async now() {
      const [row] = await sql.query<{ now: number }>(`select ${NOW} as now`);
      if (!row) throw new Error('The database did not tell its time.');
      return row.now;
    },
    async getRun(runId) {
      const [row] = await sql.query<StoredRow>(queries.run, [toStoredText(runId)]);
      return row && toRunRow(row);
    },
    async getRecords(runId) {
      return (await sql.query<StoredRow>(queries.records, [toStoredText(runId)])).map(toRecord);
    },
    async listRuns(filter, page) {
      const { sql: text, params } = listQuery({ runs: tables.runs, filter, page, mark: (n) => `$${n}` });
      return (await sql.query<StoredRow>(text, params)).map(toRunRow);
    },
    close: () => commits.idle(),
  };
}

/** An update does not answer its rows in the order it picked them. */
function byClaimOrder(a: StoredRow, b: StoredRow): number {
  const rank = Number(a.part) - Number(b.part) || Number(a.due ?? 0) - Number(b.due ?? 0);
  return rank || (String(a.runId) < String(b.runId) ? -1 : 1);
}

function withoutRank(row: StoredRow): StoredRow {
  const run = { ...row };
  delete run.part;
  delete run.due;
  return run;
}

/**
 * A run that a commit has locked is passed over and tried again: to wait for it, while holding others, could be the
 * other half of a deadlock with that commit. What is left after the last pass is up to the next renewal.
 */
async function renew(sql: SqlClient, query: string, params: [owner: string, leaseMs: number]): Promise<void> {
  let until: number | null = null;
  for (let pass = 0; pass < RENEW_PASSES; pass++) {
    const [row]: { until: number; locked: number }[] = await sql.query(query, [...params, until]);
    if (!row || row.locked === 0) return;
    until ??= row.until;
    await new Promise((resolve) => real.setTimeout(resolve, RENEW_PAUSE_MS));
  }
}
