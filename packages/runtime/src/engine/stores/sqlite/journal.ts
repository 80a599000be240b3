import { chmodSync, closeSync, openSync } from 'node:fs';
import { createGroupCommit } from '../../group-commit.ts';
import { real } from '../../real.ts';
import type { Journal } from '../../journal.ts';
import type { Durability } from '../../journal/run.ts';
import { createOverdueReader } from '../sql/cancelling.ts';
import { createChunkReader } from '../sql/chunks.ts';
import { findOwner, listHeld, mark, pause, unblock, unpause } from '../sql/held.ts';
import { createEndedReader } from '../sql/ended.ts';
import { createHookReader } from '../sql/hooks.ts';
import { createPurge } from '../sql/purge.ts';
import { createDueStarts } from '../sql/due.ts';
import { createIdleKeys } from '../sql/idle-keys.ts';
import { lookQuery, toLook } from '../sql/look.ts';
import { createMoveStore } from '../sql/moves.ts';
import { createPlaces } from '../sql/places.ts';
import { nextWakeQuery, purgeKeysQuery, purgeRatesQuery } from '../sql/queries.ts';
import { createRates } from '../sql/rates.ts';
import { createStarting } from '../sql/starting.ts';
import { createKeyReader } from '../sql/keys.ts';
import { createSerialQueue } from '../sql/queue.ts';
import { createCodeStore } from '../sql/code.ts';
import { createEarlyStore } from '../sql/early.ts';
import { createNoticeStore } from '../sql/notices.ts';
import { createReplicaStore } from '../sql/replicas.ts';
import { createRunReader } from '../sql/runs.ts';
import { createRunWatch } from '../sql/watching.ts';
import { createScheduleStore } from '../sql/schedules.ts';
import { prepareAppend } from './append.ts';
import { createSqliteChain } from './chain.ts';
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
import { createScriptRunner } from './script.ts';
import { createSqliteSerial } from './serial.ts';
import { BUSY_TIMEOUT_MS } from './patience.ts';
import { createSqliteStatements } from './statements.ts';
import { createSqliteWriter } from './write.ts';
import type { SqliteWork } from './write.ts';
import type { StoredRow } from '../sql/rows.ts';
import { namesOfTables } from '../sql/tables.ts';
import { toStoredText } from '../sql/text.ts';
import { sizeOf, sizeOfChunks } from '../sql/write.ts';

export interface SqliteJournalOptions {
  path: string;
  /** Default: the first that opens on this machine. */
  driver?: SqliteDriver;
  /** The store's clock, in milliseconds since 1970. */
  clock?: () => number;
  /** Milliseconds a write waits for other processes that write to the file. Default 5,000. */
  busyMs?: number;
}

/**
 * A journal in one SQLite file. Throws with the reasons when no driver opens here, and with the code `database_newer`
 * when a newer release made the file.
 */
export async function openSqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  const { opener, reasons } = await findSqlite(options.driver);
  if (!opener) throw new Error(`SQLite does not work on this machine. ${reasons.join(' ')}`);
  makePrivate(options.path);
  const db = opener.open(options.path);
  try {
    db.exec(PRAGMAS);
    migrateSqlite(db, options.path);
    db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return createSqliteJournal(db, options);
  } catch (error) {
    db.close();
    throw error;
  }
}

// --- internal ---

/** What runs are given and answer is in it: for its owner alone. SQLite makes the files beside it as this one is. */
function makePrivate(path: string): void {
  if (path === ':memory:') return;
  closeSync(openSync(path, 'a', OWNER_ONLY));
  chmodSync(path, OWNER_ONLY);
}

const OWNER_ONLY = 0o600;

// In WAL mode `synchronous` decides what a commit waits for; the writer sets it for each commit.
const PRAGMAS = `
  pragma busy_timeout = 5000;
  pragma journal_mode = wal;
  pragma foreign_keys = off;
`;

const COMMIT_LIMITS = { maxEntries: 500, maxBytes: 8 * 1024 * 1024 };

const BUSY_MS = 5_000;

function createSqliteJournal(
  db: SqliteDatabase,
  { clock = real.now, busyMs = BUSY_MS }: SqliteJournalOptions,
): Journal {
  const writer = createSqliteWriter(db, clock, busyMs);
  const commits = createGroupCommit<SqliteWork, unknown>(writer.commit, {
    ...COMMIT_LIMITS,
    sizeOf: (work) => work.size,
  });
  const statements = createSqliteStatements(db, writer, clock);
  const runs = createSqliteRuns(db);
  const runScript = createScriptRunner(db);
  const idle = createIdleKeys();
  const places = createPlaces(statements, (key) => idle.note(key));
  const rates = createRates(statements);
  const due = createDueStarts(statements, { places, rates });
  const serial = createSqliteSerial(db, { places, idle, due, runScript });
  const parts = { runs, serial, effects: createSqliteEffects(db), chain: createSqliteChain(db, runs) };
  const writeChunks = prepareChunks(db);
  const claims = createSqliteClaims(db, serial);
  const create = prepareCreate(runs, { starting: createStarting(statements, { places, rates }), runScript });
  const append = prepareAppend(db, parts);
  const cancel = prepareCancel(db, parts);
  const resume = prepareResume(db, parts.effects);
  const deleteRun = prepareDelete(db);
  const renewals = db.prepare('update runs set lease_until = ? where owner = ? and lease_until < ?');
  const nextWake = db.prepare<{ wake: number | null }>(
    `with given(now, owner) as (select ?, '') ${nextWakeQuery(namesOfTables())}`,
  );
  const look = db.prepare<StoredRow>(`with given(now, owner) as (select ?, ?) ${lookQuery(namesOfTables())}`);
  const purgeKeys = db.prepare(`with given(now) as (select ?) ${purgeKeysQuery(namesOfTables())}`);
  let closed: Promise<void> | undefined;

  const commit = <T>(durability: Durability, size: number, run: (now: number) => T): Promise<T> =>
    commits.add({ durability, size, run }) as Promise<T>;
  const purgeRates = db.prepare(`with given(now) as (select ?) ${purgeRatesQuery(namesOfTables())}`);
  const purge = createPurge(() =>
    commit('process', 0, (now) => Math.max(...[purgeKeys, purgeRates].map((query) => Number(query.run(now).changes)))),
  );

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
      await writer.transaction(() => renewals.run(leaseUntil, toStoredText(owner), leaseUntil));
    },
    // One process has the file, and the next takes over all that it held.
    attend: async () => {},
    expire: async () => [],
    findOwner: (runId) => findOwner(statements, runId),
    listHeld: (owner) => listHeld(statements, owner),
    cancel: (runId, error, newRunId, how) =>
      commit('synced', error.length, (now) => cancel({ runId, error, newRunId, how }, now)),
    ...createOverdueReader(statements),
    deleteRun: (runId) => commit('process', 0, () => deleteRun(runId)),
    deleteRuns: (runIds) => commit('process', 0, () => runIds.filter(deleteRun)),
    ...createEndedReader(statements),
    pause: (runId) => pause(statements, runId),
    unpause: (runId) => unpause(statements, runId),
    unblock: (runId, codeHash) => unblock(statements, runId, codeHash),
    hooks: {
      ...createHookReader(statements),
      resume: (token, payload, options = {}) =>
        commit('synced', payload.length, (now) => resume({ token, payload, options }, now)),
    },
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
      write: (runId, epoch, chunks) => commit('process', sizeOfChunks(chunks), () => writeChunks(runId, epoch, chunks)),
    },
    async look(owner) {
      purge.start();
      return toLook(look.get(clock(), toStoredText(owner)));
    },
    async nextWake() {
      const now = clock();
      const wake = nextWake.get(now)?.wake;
      return wake == null ? undefined : Math.max(0, wake - now);
    },
    now: async () => clock(),
    ...createRunReader(statements),
    ...createRunWatch(statements),
    close: () =>
      (closed ??= purge
        .stop()
        .then(() => commits.idle())
        .then(() => db.close())),
  };
}
