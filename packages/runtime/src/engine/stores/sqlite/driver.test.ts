import { afterEach, expect, test, vi } from 'vitest';
import { findSqlite, SQLITE_DRIVERS } from './driver.ts';
import type { SqliteOpener } from './driver.ts';

afterEach(() => vi.unstubAllEnvs());

test('SQLite opens on this machine', async () => {
  const { opener } = await findSqlite();
  expect(SQLITE_DRIVERS).toContain(opener?.driver);
});

test('SVC_SQLITE_DRIVER names the driver', async () => {
  vi.stubEnv('SVC_SQLITE_DRIVER', '@photostructure/sqlite');
  const { opener } = await findSqlite();
  expect(opener?.driver).toBe('@photostructure/sqlite');
});

test('an unknown driver is an error that names the known ones', async () => {
  vi.stubEnv('SVC_SQLITE_DRIVER', 'sqlite3');
  await expect(findSqlite()).rejects.toThrow(
    'There is no SQLite driver "sqlite3". Set SVC_SQLITE_DRIVER to one of "better-sqlite3", "node:sqlite", ' +
      '"@photostructure/sqlite", or leave it unset.',
  );
});

test('a driver that opens nothing is passed over, with its reason', async () => {
  vi.doMock('better-sqlite3', () => ({
    default: function Database() {
      throw new Error('Could not locate the bindings file. Tried:\n → a\n → b');
    },
  }));
  try {
    const { opener, reasons } = await findSqlite();
    expect(opener?.driver).toMatch(/^node:sqlite$|^@photostructure/);
    expect(reasons[0]).toBe('better-sqlite3 does not open a database: Could not locate the bindings file. Tried:');
    expect(await findSqlite('better-sqlite3')).toMatchObject({ opener: undefined });
  } finally {
    vi.doUnmock('better-sqlite3');
  }
});

test('loading the drivers prints no warning and leaves the printing of others alone', async () => {
  const { emitWarning } = process;
  const warnings: string[] = [];
  const note = (warning: Error): void => void warnings.push(warning.message);
  process.on('warning', note);
  for (const driver of SQLITE_DRIVERS) await findSqlite(driver);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', note);
  expect(warnings.filter((message) => message.includes('SQLite'))).toStrictEqual([]);
  expect(process.emitWarning).toBe(emitWarning);
});

for (const driver of SQLITE_DRIVERS) {
  const { opener, reasons } = await findSqlite(driver);
  test.skipIf(!opener)(`${[driver, ...reasons].join(': ')}: a transaction that throws leaves nothing behind`, () => {
    const db = (opener as SqliteOpener).open(':memory:');
    db.exec('create table t (n integer, s text)');
    const insert = db.prepare('insert into t values (?, ?)');
    expect(db.transaction(() => Number(insert.run(1, null).changes))).toBe(1);
    const failing = (): void =>
      db.transaction(() => {
        insert.run(2, 'x');
        throw new Error('no');
      });
    expect(failing).toThrow('no');
    const rows = db.prepare<object>('select n, s from t').all();
    expect(rows.map((row) => ({ ...row }))).toStrictEqual([{ n: 1, s: null }]);
    expect(db.prepare('select n from t where n = ?').get(9)).toBeUndefined();
    db.close();
  });
}
