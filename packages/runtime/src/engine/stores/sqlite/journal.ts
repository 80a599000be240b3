import { createGroupCommit } from '../../group-commit.ts';
import { real } from '../../real.ts';
import type { Journal } from '../../journal.ts';
import type { Durability } from '../../journal/run.ts';
import { createChunkReader } from '../sql/chunks.ts';
import { listHeld, mark, unblock } from '../sql/held.ts';
import { createEndedReader } from '../sql/ended.ts';
import { createHookReader } from '../sql/hooks.ts';
import { createPurge } from '../sql/purge.ts';
import { nextWakeQuery, purgeKeysQuery } from '../sql/queries.ts';
import { createKeyReader } from '../sql/keys.ts';
import { createSerialQueue } from '../sql/queue.ts';
import { createRunReader } from '../sql/runs.ts';
import { createScheduleStore } from '../sql/schedules.ts';
import { prepareAppend } from './append.ts';
import { prepareCancel } from './cancel.ts';
import { prepareChunks } from './chunks.ts';
import { createSqliteClaims } from './claim.ts';
import { prepareCreate } from './create.ts';
import { prepareDelete } from './delete.ts';
import { createSqliteEffects } from './effects.ts';
import { prepareResume } from './hooks.ts';
import { findSqlite } from './driver.ts';
import type { SqliteDatabase, SqliteDriver } from './driver.ts';
import { migrateSqlite } from './schema.ts';
import { createSqliteRuns } from './runs.ts';
import { createSqliteSerial } from './serial.ts';
import { createSqliteStatements } from './statements.ts';
import { createSqliteWriter } from './write.ts';
import type { SqliteWork } from './write.ts';
import { namesOfTables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';
import { sizeOf, sizeOfChunks } from '../sql/write.ts';

export interface SqliteJournalOptions {
  path: string;
  /** Default: the first that opens on this machine. */
  driver?: SqliteDriver;
  /** The store's clock, in milliseconds since 1970. */
  clock?: () => number;
}

/**
 * A journal in one SQLite file. Throws with the reasons when no driver opens here, and with the code `database_newer`
 * when a newer release made the file.
 */
export async function openSqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  const { opener, reasons } = await findSqlite(options.driver);
  if (!opener) throw new Error(`SQLite does not work on this machine. ${reasons.join(' ')}`);
  const db = opener.open(options.path);
  try {
    db.exec(PRAGMAS);
    migrateSqlite(db, options.path);
    return createSqliteJournal(db, options.clock ?? real.now);
  } catch (error) {
    db.close();
    throw error;
  }
}

// --- internal ---

// In WAL mode `synchronous` decides what a commit waits for; the writer sets it for each commit.
const PRAGMAS = `
  pragma busy_timeout = 5000;
  pragma journal_mode = wal;
  pragma foreign_keys = off;
`;

const COMMIT_LIMITS = { maxEntries: 500, maxBytes: 8 * 1024 * 1024 };

function createSqliteJournal(db: SqliteDatabase, clock: () => number): Journal {
  const writer = createSqliteWriter(db, clock);
  const commits = createGroupCommit<SqliteWork, unknown>(writer.commit, {
    ...COMMIT_LIMITS,
    sizeOf: (work) => work.size,
  });
  const statements = createSqliteStatements(db, writer, clock);
  const runs = createSqliteRuns(db);
  const serial = createSqliteSerial(db, runs);
  const parts = { runs, serial, effects: createSqliteEffects(db) };
  const writeChunks = prepareChunks(db);
  const claims = createSqliteClaims(db, serial);
  const create = prepareCreate(db, parts);
  const append = prepareAppend(db, parts);
  const cancel = prepareCancel(db, parts);
  const resume = prepareResume(db, parts.effects);
  const deleteRun = prepareDelete(db);
  const renewals = db.prepare('update runs set lease_until = ? where owner = ? and lease_until < ?');
  const nextWake = db.prepare<{ wake: number | null }>(`with given(now) as (select ?) ${nextWakeQuery('runs')}`);
  const purgeKeys = db.prepare(`with given(now) as (select ?) ${purgeKeysQuery(namesOfTables())}`);
  let closed: Promise<void> | undefined;

  const commit = <T>(durability: Durability, size: number, run: (now: number) => T): Promise<T> =>
    commits.add({ durability, size, run }) as Promise<T>;
  const purge = createPurge(() => commit('process', 0, (now) => Number(purgeKeys.run(now).changes)));

  return {
    adapter: 'sqlite',
    create: (run) => commit(run.durability, sizeOf({ type: 'create', run }), (now) => create(run, now)),
    append: (entry) => commit(entry.durability, sizeOf({ type: 'append', entry }), (now) => append(entry, now)),
    async claim(claim) {
      purge.start();
      return writer.transaction(() => claims.claim(claim, clock()));
    },
    claimRun: async (runId, claim) => writer.transaction(() => claims.claimRun(runId, claim, clock())),
    mark: (...given) => mark(statements, given),
    async renew(owner, leaseMs) {
      const leaseUntil = clock() + leaseMs;
      writer.transaction(() => renewals.run(leaseUntil, toStoredText(owner), leaseUntil));
    },
    listHeld: (owner) => listHeld(statements, owner),
    cancel: (runId, error, newRunId) =>
      commit('synced', error.length, (now) => cancel({ runId, error, newRunId }, now)),
    deleteRun: (runId) => commit('process', 0, () => deleteRun(runId)),
    deleteRuns: (runIds) => commit('process', 0, () => runIds.filter(deleteRun)),
    ...createEndedReader(statements),
    unblock: (runId, codeHash) => unblock(statements, runId, codeHash),
    hooks: {
      ...createHookReader(statements),
      resume: (token, payload, options = {}) =>
        commit('synced', payload.length, (now) => resume({ token, payload, options }, now)),
    },
    ...createKeyReader(statements),
    queue: createSerialQueue(statements),
    schedules: createScheduleStore(statements),
    chunks: {
      ...createChunkReader(statements),
      write: (runId, epoch, chunks) => commit('process', sizeOfChunks(chunks), () => writeChunks(runId, epoch, chunks)),
    },
    async nextWake() {
      const now = clock();
      const wake = nextWake.get(now)?.wake;
      return wake == null ? undefined : Math.max(0, wake - now);
    },
    now: async () => clock(),
    ...createRunReader(statements),
    close: () =>
      (closed ??= purge
        .stop()
        .then(() => commits.idle())
        .then(() => db.close())),
  };
}
