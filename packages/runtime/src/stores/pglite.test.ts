import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeStoreClient } from './contract.ts';
import { describeDatabase } from './database-contract.ts';
import { getPackageFile } from './package-file.ts';
import { openPglite } from './pglite.ts';
import type { PgliteClient } from './pglite.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-pglite-'));
const dataDir = join(folder, 'state', 'db');
let client: PgliteClient;

beforeAll(() => {
  // A first boot that was killed while it unpacked leaves this.
  mkdirSync(join(folder, 'state', '.db.unpacking-1'), { recursive: true });
  writeFileSync(join(folder, 'state', '.db.unpacking-1', 'PG_VERSION'), 'half');
  client = openPglite({ dataDir, deadlockMs: 200 });
});
afterAll(async () => {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the template', () => {
  it('carries exactly the migrations of the migrations folder (else: node scripts/make-template.mjs)', async () => {
    const applied = await client.query<{ hash: string }>('select hash from svc.migrations order by id');
    const files = readMigrationFiles({ migrationsFolder: getPackageFile('migrations') });
    expect(applied.map(({ hash }) => hash)).toEqual(files.map(({ hash }) => hash));
  });

  it('was made by the PGlite this package depends on', () => {
    const made = readJson<{ pglite: string }>('template/template.json');
    const { dependencies } = readJson<{ dependencies: Record<string, string> }>('package.json');
    expect(made.pglite).toBe(dependencies['@electric-sql/pglite']);
  });

  it('gives no two boxes the same identity', async () => {
    expect(await client.query('select * from svc.installation')).toEqual([]);
  });

  it('appears whole: what a killed first boot left is gone', () => {
    expect(existsSync(join(folder, 'state', '.db.unpacking-1'))).toBe(false);
    expect(readFileSync(join(dataDir, 'PG_VERSION'), 'utf8').trim()).toBe('18');
  });
});

describeDatabase('PGlite', () => client);
describeStoreClient('PGlite', () => client);

describe('PGlite in its worker', () => {
  it('makes statements wait for a transaction, and lets them run after it', async () => {
    const order: string[] = [];
    let outside: Promise<unknown> | undefined;
    const started = client.transaction(async (tx) => {
      await tx.query('select 1');
      order.push('inside');
      await new Promise((done) => setImmediate(done));
      await tx.query('select 1');
      order.push('end');
    });
    outside = client.query('select 1').then(() => order.push('outside'));
    await Promise.all([started, outside]);
    expect(order).toEqual(['inside', 'end', 'outside']);
  });

  it('ends the deadlock of a transaction that awaits a statement made beside it', async () => {
    const work = client.transaction(() => client.query('select 1'));
    await expect(work).rejects.toThrow('Use the "tx" that the transaction hands over.');
    const nested = client.transaction(() => client.transaction(async () => {}));
    await expect(nested).rejects.toThrow('Use the "tx" that the transaction hands over.');
    expect(await client.query('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('runs a statement made beside a transaction after it, when no one waits', async () => {
    let beside: Promise<unknown> | undefined;
    await client.transaction(async (tx) => {
      beside = client.query('select 1 as one');
      await tx.query('select 1');
    });
    expect(await beside).toEqual([{ one: 1 }]);
  });

  it('rejects a value that cannot cross the thread boundary, and goes on', async () => {
    await expect(client.query('select $1', [() => 1])).rejects.toThrow('could not be cloned');
    expect(await client.query('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('keeps the event loop free while a statement runs', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    await client.query('select pg_sleep(0.2)');
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  it('restarts in the middle of a statement and keeps what was acknowledged', async () => {
    await client.exec('create table restarted (id int)');
    await client.query('insert into restarted values (1)');
    const endless = client.query('select pg_sleep(60)');
    const queued = client.query('insert into restarted values (2)');
    const outcomes = Promise.allSettled([endless, queued]);
    await new Promise((done) => setImmediate(done));
    await client.restart();
    const lost = { status: 'rejected', reason: { code: 'store_unavailable' } };
    expect(await outcomes).toMatchObject([lost, lost]);
    expect(await client.query('select id from restarted')).toEqual([{ id: 1 }]);
  });

  it('never runs the rest of a transaction in a new worker', async () => {
    const work = client.transaction(async (tx) => {
      await tx.query('insert into restarted values (3)');
      await client.restart();
      await tx.query('insert into restarted values (4)');
    });
    await expect(work).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await client.query('select id from restarted')).toEqual([{ id: 1 }]);
  });

  it('comes back after the database ended its own process', async () => {
    const lease = await client.lease();
    const query = Buffer.from('copy restarted from stdin\0');
    const message = Buffer.concat([Buffer.from('Q'), Buffer.alloc(4), query]);
    message.writeInt32BE(4 + query.length, 1);
    await expect(lease.wire(message, () => {})).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(lease.ended.aborted).toBe(true);
    lease.release();
    expect(await client.query('select id from restarted')).toEqual([{ id: 1 }]);
  });

  it('refuses a folder that is not a database, and leaves it alone', async () => {
    const other = join(folder, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'notes.txt'), 'mine');
    const broken = openPglite({ dataDir: other });
    await expect(broken.ready).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(broken.ready).rejects.toThrow(
      `The database in "${other}" cannot be opened: it holds files, such as "notes.txt", and no database. Move them away`,
    );
    await broken.close();
    expect(readFileSync(join(other, 'notes.txt'), 'utf8')).toBe('mine');
  });

  it('starts over in a folder of empty folders, as something that clears files leaves one', async () => {
    const emptied = join(folder, 'emptied');
    mkdirSync(join(emptied, 'pg_wal', 'summaries'), { recursive: true });
    const anew = openPglite({ dataDir: emptied });
    await anew.ready;
    await anew.close();
    expect(existsSync(join(emptied, 'PG_VERSION'))).toBe(true);
  });

  it('finishes what is queued when it closes, and refuses what comes later', async () => {
    const last = client.query('insert into restarted values (5) returning id');
    const closing = client.close();
    expect(await last).toEqual([{ id: 5 }]);
    await closing;
    await client.close();
    await expect(client.query('select 1')).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(getPackageFile(name), 'utf8')) as T;
}
