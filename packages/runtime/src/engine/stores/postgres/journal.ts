import type { SqlClient, SqlConnection } from '../../../stores/sql.ts';
import { createGroupCommit } from '../../group-commit.ts';
import { real } from '../../real.ts';
import type { Journal } from '../../journal.ts';
import type { AppendResult } from '../../journal/appends.ts';
import type { CreateResult, NewRun } from '../../journal/starts.ts';
import { toEnterQuery } from './batch.ts';
import { createOverdueReader } from '../sql/cancelling.ts';
import { createChunkReader } from '../sql/chunks.ts';
import { findOwner, listHeld, mark, pause, unblock, unpause } from '../sql/held.ts';
import { createEndedReader } from '../sql/ended.ts';
import { cancelTree } from './cancel.ts';
import { createChunkWriter } from './chunks.ts';
import { claimQuery, createNamedClaims, renewQuery } from './claim.ts';
import { deleteFinalRuns } from './delete.ts';
import { createPostgresHooks } from './hook-store.ts';
import { createStartWriter, keyedQuery } from './keyed.ts';
import { forgetOthersQuery, IS_LAPSED, lapsedOwners, purgeOwnersQuery, silentOwners } from './owners.ts';
import { createPresence } from './presence.ts';
import { createLanes, keyOf } from './lanes.ts';
import { COMMIT_LIMITS, limitClient, MOST_SHARED } from './limit.ts';
import { migratePostgres } from './migrate.ts';
import { NOW } from './sql.ts';
import type { Query } from './sql.ts';
import { createPostgresSerial } from './serial.ts';
import { createPostgresStatements } from './statements.ts';
import { retryClient } from './transaction.ts';
import { createPostgresWriter, isPlain } from './write.ts';
import { createPurge } from '../sql/purge.ts';
import { expireOthersQuery, nextWakeQuery, purgeKeysQuery, purgeRatesQuery } from '../sql/queries.ts';
import { createKeyReader } from '../sql/keys.ts';
import { lookQuery, toLook } from '../sql/look.ts';
import { createMoveStore } from '../sql/moves.ts';
import { createSerialQueue } from '../sql/queue.ts';
import { toRunRow } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { createCodeStore } from '../sql/code.ts';
import { createEarlyStore } from '../sql/early.ts';
import { createNoticeStore } from '../sql/notices.ts';
import { createReplicaStore } from '../sql/replicas.ts';
import { isKeyedCreate, isRefusableCreate } from '../sql/starting.ts';
import { createRunReader } from '../sql/runs.ts';
import { createRunWatch } from '../sql/watching.ts';
import { createScheduleStore } from '../sql/schedules.ts';
import { namesOfTables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';
import { runIdOf, sizeOf, sizeOfChunks } from '../sql/write.ts';
import type { Write, Written } from '../sql/write.ts';

export interface PostgresJournalOptions {
  /** Stays open when the journal is closed. */
  sql: SqlClient;
  /** What leases are renewed over: a connection that nothing else takes. Stays open, too. Default: `sql`. */
  leases?: SqlConnection;
  /** The database schema that holds the journal's tables. Default "journal". */
  schema?: string;
}

/** The schema of a journal that is given no other. */
export const DEFAULT_SCHEMA = 'journal';

/** A journal in a Postgres database, or in PGlite. Throws with the code `database_newer` when a newer release made the schema. */
export async function openPostgresJournal(options: PostgresJournalOptions): Promise<Journal> {
  const schema = options.schema ?? DEFAULT_SCHEMA;
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new Error(`"${schema}" cannot be the journal's schema. Use small letters, digits and underscores.`);
  await migratePostgres(options.sql, schema, options.leases ? { beside: options.leases } : {});
  return createPostgresJournal(limitClient(options.sql, STATEMENT_MS), options.leases, schema);
}

// --- internal ---

/** Runs of one answer, each with its input. */
const MOST_CLAIMED = 100;

/** Less than the engine waits for an answer: the statement ends before the engine gives up on it. */
const STATEMENT_MS = 8_000;

const GIVEN = `given as (select ${NOW} as now, $1::text as owner)`;

const RENEW_PASSES = 20;
const RENEW_PAUSE_MS = 10;

function createPostgresJournal(client: SqlClient, connection: SqlConnection | undefined, schema: string): Journal {
  const tables = namesOfTables(schema);
  const leases = retryClient(connection ? limitClient(connection, STATEMENT_MS) : client);
  const serial = createPostgresSerial(tables);
  const writer = createPostgresWriter(client, tables, serial);
  const sql = retryClient(client);
  const presence = createPresence({ sql, tables, connection });
  const commits = createGroupCommit<Write, Written>(writer.write, { ...COMMIT_LIMITS, sizeOf, keyOf: runIdOf });
  const lanes = createLanes(async (write) => (await writer.write([write]))[0] as Written | Error);
  const groupStarts = (toQuery: (runs: NewRun[]) => Query) =>
    createGroupCommit(createStartWriter(client, writer.readBack, toQuery), { ...COMMIT_LIMITS, sizeOf, keyOf });
  const keyed = groupStarts((runs) => keyedQuery(tables, runs));
  const entering = groupStarts((runs) => toEnterQuery(tables, runs));
  const groupOf = (run: NewRun) => (isKeyedCreate(run) ? keyed : isRefusableCreate(run) ? entering : undefined);
  const commit = async (write: Write): Promise<Written> => {
    if (isPlain(write)) return commits.add(write);
    const isShared = write.type === 'create' && sizeOf(write) <= MOST_SHARED;
    return (isShared ? await groupOf(write.run)?.add(write) : undefined) ?? lanes.add(write);
  };
  const frames = createGroupCommit(createChunkWriter(sql, tables), {
    ...COMMIT_LIMITS,
    sizeOf: ({ chunks }) => sizeOfChunks(chunks),
    keyOf: ({ runId }) => runId,
  });
  const named = createGroupCommit(createNamedClaims(sql, tables), {
    maxEntries: MOST_CLAIMED,
    keyOf: ({ runId }) => runId,
  });
  const statements = createPostgresStatements(sql, tables);
  const { hooks, idle: hooksIdle } = createPostgresHooks({ client, retrying: sql, statements });
  const queries = {
    expireOthers: `with ${GIVEN}, forgotten as (${forgetOthersQuery(tables)}) ${expireOthersQuery(tables.runs)}`,
    purgeOwners: `with given as (select ${NOW} as now) ${purgeOwnersQuery(tables)} returning 1`,
    purgeKeys: `with given as (select ${NOW} as now) ${purgeKeysQuery(tables, 'for update skip locked')} returning 1`,
    purgeRates: `with given as (select ${NOW} as now) ${purgeRatesQuery(tables)} returning 1`,
    claim: claimQuery(tables),
    claimOthers: claimQuery(tables, true),
    renew: renewQuery(tables),
    nextWake: `with given as (select ${NOW} as now, '' as owner), ${lapsedOwners(tables)} ${nextWakeQuery(tables, IS_LAPSED)}`,
    look: `with ${GIVEN}, ${lapsedOwners(tables)}, ${silentOwners(tables)} ${lookQuery(tables, IS_LAPSED, '(select owners from silent)')}`,
  };
  const purge = createPurge(async () => {
    const purged = await Promise.all(
      [queries.purgeKeys, queries.purgeRates, queries.purgeOwners].map((query) => sql.query(query)),
    );
    return Math.max(...purged.map((rows) => rows.length));
  });

  return {
    adapter: 'postgres',
    create: (run) => commit({ type: 'create', run }) as Promise<CreateResult>,
    append: (entry) => commit({ type: 'append', entry }) as Promise<AppendResult>,
    async claim(claim) {
      const owner = toStoredText(claim.owner);
      purge.start();
      await serial.promoteIdle(sql);
      if (claim.takeover) await sql.query(queries.expireOthers, [owner]);
      const { leaseMs, limit, notCodes = [] } = claim;
      const rows =
        notCodes.length === 0
          ? await sql.query<StoredRow>(queries.claim, [owner, leaseMs, limit])
          : await sql.query<StoredRow>(queries.claimOthers, [owner, leaseMs, limit, notCodes.map(toStoredText)]);
      return rows.sort(byClaimOrder).map((row) => toRunRow(withoutRank(row)));
    },
    claimRun: (runId, claim) => named.add({ runId, ...claim }),
    mark: (...given) => mark(statements, given),
    renew: (owner, leaseMs) => renew(leases, queries.renew, [toStoredText(owner), leaseMs]),
    attend: presence.attend,
    expire: presence.expire,
    findOwner: (runId) => findOwner(statements, runId),
    listHeld: (owner) => listHeld(statements, owner),
    cancel: (runId, error, newRunId, how) => cancelTree(sql, { tables, serial }, { runId, error, newRunId, how }),
    ...createOverdueReader(statements),
    deleteRun: async (runId) => (await deleteFinalRuns(sql, tables, { runIds: [runId] })).length > 0,
    // Two replicas that delete the same ones do not wait for each other.
    deleteRuns: (runIds) => deleteFinalRuns(sql, tables, { runIds, skipsLocked: true }),
    ...createEndedReader(statements),
    pause: (runId) => pause(statements, runId),
    unpause: (runId) => unpause(statements, runId),
    unblock: (runId, codeHash) => unblock(statements, runId, codeHash),
    hooks,
    ...createKeyReader(statements),
    queue: createSerialQueue(statements),
    schedules: createScheduleStore(statements),
    replicas: createReplicaStore(statements),
    notices: createNoticeStore(statements),
    early: createEarlyStore(statements),
    code: createCodeStore(statements),
    moves: createMoveStore(statements),
    chunks: {
      ...createChunkReader(statements),
      write: (runId, epoch, chunks) => frames.add({ runId, epoch, chunks }),
    },
    async look(owner) {
      purge.start();
      const [row] = await sql.query<StoredRow>(queries.look, [toStoredText(owner)], { prepared: true });
      const look = toLook(row);
      return { ...look, silent: presence.judge(look.silent) };
    },
    async nextWake() {
      const [row] = await sql.query<{ wake: number | null; now: number }>(queries.nextWake);
      return row?.wake == null ? undefined : Math.max(0, row.wake - row.now);
    },
    now: statements.now,
    ...createRunReader(statements),
    ...createRunWatch(statements),
    close: () =>
      purge
        .stop()
        .then(() =>
          Promise.all([hooksIdle(), ...[commits, keyed, entering, named, frames].map((group) => group.idle())]),
        )
        .then(() => lanes.idle())
        .then(() => {}),
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
