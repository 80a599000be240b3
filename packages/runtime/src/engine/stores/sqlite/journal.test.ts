import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Journal } from '../../journal.ts';
import { describeJournal } from '../contract/journal.ts';
import type { JournalPlace } from '../contract/place.ts';
import { start } from '../contract/world.ts';
import { newRun } from '../contract/records.ts';
import { findSqlite, SQLITE_DRIVERS } from './driver.ts';
import type { SqliteDatabase, SqliteDriver, SqliteOpener } from './driver.ts';
import { openSqliteJournal } from './journal.ts';
import { migrateSqlite, SQLITE_VERSION } from './schema.ts';

for (const driver of SQLITE_DRIVERS) {
  const { opener, reasons } = await findSqlite(driver);
  describe.skipIf(!opener)(`SQLite through ${[driver, ...reasons].join(': ')}`, () => {
    describeJournal('journal', SQLITE_VERSION, () => createPlace(driver));
  });
}

describe('SQLite journal', () => {
  test('a file of a newer release is refused and stays as it is', async () => {
    const place = await createPlace();
    const { opener } = await findSqlite();
    const db = opener?.open(place.path);
    db?.exec('pragma user_version = 99');
    await expect(openSqliteJournal({ path: place.path })).rejects.toMatchObject({
      code: 'database_newer',
      message: expect.stringContaining('schema version 99') as string,
    });
    expect(db?.prepare('pragma user_version').get()).toMatchObject({ user_version: 99 });
    db?.close();
    await place.remove();
  });

  test('the file is for its owner alone, and those beside it', async () => {
    const place = await createPlace();
    writeFileSync(place.path, '', { mode: 0o644 });
    const journal = await openSqliteJournal({ path: place.path });
    await start(journal, newRun());
    const modes = ['', '-wal', '-shm'].map((end) => statSync(`${place.path}${end}`).mode & 0o777);
    expect(modes).toStrictEqual([0o600, 0o600, 0o600]);
    await journal.close();
    await place.remove();
  });

  test('the clock of the journal decides leases and wakes', async () => {
    const place = await createPlace();
    let now = 1_000;
    const journal = await openSqliteJournal({ path: place.path, clock: () => now });
    await start(journal, newRun({ claim: { owner: 'a', leaseMs: 30_000 } }));
    now = 30_999;
    expect(await journal.claim({ owner: 'b', leaseMs: 1, limit: 1 })).toStrictEqual([]);
    now = 31_000;
    expect(await journal.claim({ owner: 'b', leaseMs: 1, limit: 1 })).toMatchObject([{ epoch: 2, leaseUntil: 31_001 }]);
    await journal.close();
    await place.remove();
  });
});

describe('SQLite journal whose file another process writes to', () => {
  const withWriter = async (
    busyMs: number,
    work: (journal: Journal, release: () => void) => Promise<void>,
  ): Promise<void> => {
    const place = await createPlace();
    const { opener } = await findSqlite();
    const journal = await openSqliteJournal({ path: place.path, busyMs });
    const other = (opener as SqliteOpener).open(place.path);
    other.exec('begin immediate');
    await work(journal, () => other.exec('commit'));
    other.close();
    await journal.close();
    await place.remove();
  };

  test('waits without the event loop, and loses nothing', () =>
    withWriter(60_000, async (journal, release) => {
      const made = newRun();
      const created = journal.create(made);
      const others = [journal.claim({ owner: 'b', leaseMs: 1, limit: 1 }), journal.schedules.setPaused('x', true, 1)];
      const began = performance.now();
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
      // Ten turns took as long as ten turns take, and not as long as SQLite would have waited.
      expect(performance.now() - began).toBeLessThan(4_000);
      expect(await journal.getRun(made.runId)).toBeUndefined();
      release();
      expect(await created).toMatchObject({ outcome: 'created', run: { runId: made.runId } });
      expect(await Promise.all(others)).toStrictEqual([[], false]);
    }));

  test('says so when it takes too long', () =>
    withWriter(10, async (journal, release) => {
      const calls = [
        journal.create(newRun()),
        journal.renew('a', 1),
        journal.pause('x'),
        journal.claimRun('x', { owner: 'a', leaseMs: 1 }),
      ];
      for (const { status, reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[])
        expect([status, reason]).toMatchObject(['rejected', { code: 'store_unavailable' }]);
      release();
      expect(await journal.create(newRun())).toMatchObject({ outcome: 'created' });
    }));
});

describe('SQLite journal of a process that is killed', () => {
  test.each(['synced', 'process'] as const)('what was acknowledged as %s is there, and dense', async (durability) => {
    const place = await createPlace();
    const { opener } = await findSqlite();
    const acknowledged = new Map<string, number>();
    for (let kill = 0; kill < 3; kill++) {
      const limit = 1 + Math.floor(Math.random() * 400);
      await appendUntil(limit, [place.path, opener?.driver ?? '', durability], acknowledged);
    }
    const journal = await place.open();
    expect(acknowledged.size).toBeGreaterThan(0);
    for (const [runId, last] of acknowledged) {
      const records = await journal.getRecords(runId);
      expect(records.map((record) => record.seq)).toStrictEqual(records.map((_, index) => index));
      expect(records.length).toBeGreaterThan(last);
      expect((await journal.getRun(runId))?.seq).toBe(records.length);
    }
    await journal.close();
    await place.remove();
  });
});

// --- internal ---

const APPENDING = fileURLToPath(new URL('./fixtures/append-until-killed.mjs', import.meta.url));

/** Starts the appending process, kills it once it has acknowledged `limit` appends, and notes the last of each run. */
async function appendUntil(limit: number, args: string[], acknowledged: Map<string, number>): Promise<void> {
  const child = spawn(process.execPath, [APPENDING, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  let seen = 0;
  // Lines already in the pipe when the process dies were acknowledged too. One that is cut off does not match.
  for await (const line of createInterface(child.stdout)) {
    const [, runId, seq] = /^(\S{36}) (\d+)$/.exec(line) ?? [];
    if (runId) acknowledged.set(runId, Number(seq));
    if (++seen === limit) child.kill('SIGKILL');
  }
  const [, signal] = (await ended) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
}

async function createPlace(driver?: SqliteDriver): Promise<JournalPlace & { path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'journal-'));
  const path = join(folder, 'journal.db');
  const withDatabase = async <T>(work: (db: SqliteDatabase) => T): Promise<T> => {
    const { opener } = await findSqlite(driver);
    const db = (opener as SqliteOpener).open(path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  return {
    path,
    open: () => openSqliteJournal({ path, ...(driver ? { driver } : {}) }),
    migrate: (version) => withDatabase((db) => migrateSqlite(db, path, version)),
    change: (statement) => withDatabase((db) => db.exec(statement(''))),
    count: (table) =>
      withDatabase((db) => db.prepare<{ n: number }>(`select count(*) as n from ${table}`).get()?.n ?? 0),
    remove: () => rm(folder, { recursive: true }),
  };
}
