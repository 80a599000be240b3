import { createGroupCommit } from '../group-commit.ts';
import { real } from '../real.ts';
import type { AppendResult, Journal, RunRow } from '../journal.ts';
import { listQuery, nextWakeQuery } from './queries.ts';
import { RECORD_SELECT, RUN_SELECT, toRecord, toRunRow } from './rows.ts';
import type { StoredRow } from './rows.ts';
import { createSqliteClaims } from './sqlite-claim.ts';
import { findSqlite } from './sqlite-open.ts';
import type { SqliteDatabase, SqliteDriver } from './sqlite-open.ts';
import { migrateSqlite } from './sqlite-schema.ts';
import { createSqliteWriter } from './sqlite-write.ts';
import { toStoredText } from './text.ts';
import { sizeOf } from './write.ts';
import type { Write, Written } from './write.ts';

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
  const commits = createGroupCommit<Write, Written>(writer.commit, { ...COMMIT_LIMITS, sizeOf });
  const claims = createSqliteClaims(db);
  const selectRun = db.prepare<StoredRow>(`select ${RUN_SELECT} from runs where run_id = ?`);
  const selectRecords = db.prepare<StoredRow>(`select ${RECORD_SELECT} from run_events where run_id = ? order by seq`);
  const renewals = db.prepare('update runs set lease_until = ? where owner = ? and lease_until < ?');
  const nextWake = db.prepare<{ wake: number | null }>(`with given(now) as (select ?) ${nextWakeQuery('runs')}`);
  let closed: Promise<void> | undefined;

  return {
    adapter: 'sqlite',
    create: (run) => commits.add({ type: 'create', run }) as Promise<RunRow>,
    append: (entry) => commits.add({ type: 'append', entry }) as Promise<AppendResult>,
    claim: async (claim) => writer.transaction(() => claims.claim(claim, clock())),
    claimRun: async (runId, claim) => writer.transaction(() => claims.claimRun(runId, claim, clock())),
    async renew(owner, leaseMs) {
      const leaseUntil = clock() + leaseMs;
      writer.transaction(() => renewals.run(leaseUntil, toStoredText(owner), leaseUntil));
    },
    async nextWake() {
      const now = clock();
      const wake = nextWake.get(now)?.wake;
      return wake == null ? undefined : Math.max(0, wake - now);
    },
    now: async () => clock(),
    async getRun(runId) {
      const row = selectRun.get(toStoredText(runId));
      return row && toRunRow(row);
    },
    getRecords: async (runId) => selectRecords.all(toStoredText(runId)).map(toRecord),
    async listRuns(filter, page) {
      const { sql, params } = listQuery({ runs: 'runs', filter, page, mark: () => '?' });
      return db
        .prepare<StoredRow>(sql)
        .all(...params)
        .map(toRunRow);
    },
    close: () => (closed ??= commits.idle().then(() => db.close())),
  };
}
