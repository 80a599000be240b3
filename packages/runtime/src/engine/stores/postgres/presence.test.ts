import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { openPooler } from '../../../../test/_pooler.ts';
import { describeWhen, realServers } from '../../../../test/require.ts';
import { openPgConnection } from '../../../stores/pg-connection.ts';
import { openPg } from '../../../stores/pg.ts';
import type { SqlClient, SqlConnection } from '../../../stores/sql.ts';
import type { Journal } from '../../journal.ts';
import type { RunRow } from '../../journal/run.ts';
import { createDatabase } from '../_clients.ts';
import { newRun } from '../contract/records.ts';
import { claim, ids, start, until, write } from '../contract/world.ts';
import { openPostgresJournal } from './journal.ts';

const LEASE_MS = 600_000;

describeWhen(realServers.database, 'a process that holds its lock', (server) => {
  let database: { url: string; drop(): Promise<void> };
  let sql: SqlClient;
  beforeAll(async () => {
    database = await createDatabase(server);
    sql = openPg(database.url);
    await (await openPostgresJournal({ sql })).close();
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });
  beforeEach(() => sql.exec('truncate journal.runs, journal.owners, journal.replicas'));

  interface Replica {
    journal: Journal;
    connection: SqlConnection;
    /** As the process would end: with no word to anyone. */
    die(): Promise<void>;
  }
  const open = async (owner: string, url = database.url): Promise<Replica> => {
    const connection = openPgConnection(url, { steadyMs: LEASE_MS });
    onTestFinished(() => connection.close());
    const journal = await openPostgresJournal({ sql, leases: connection });
    await journal.attend(owner);
    return { journal, connection, die: () => connection.close() };
  };
  const hold = (owner: string): Promise<RunRow> =>
    start(replica.journal, newRun({ claim: { owner, leaseMs: LEASE_MS } }));
  const silent = async (): Promise<string[]> => (await replica.journal.look('watcher')).silent;
  const lockOf = async (owner: string) =>
    (
      await sql.query<{ key: string | null }>('select lock_key::text as key from journal.owners where owner = $1', [
        owner,
      ])
    )[0]?.key;
  /** Ends the sessions that hold an owner's lock, as an administrator does. */
  const cut = async (owner: string): Promise<void> => {
    const killed = await sql.query(
      `select pg_terminate_backend(pid) from pg_locks join journal.owners on owner = $1
      where locktype = 'advisory' and objsubid = 1 and classid::int8 = ((lock_key >> 32) & 4294967295)
        and objid::int8 = (lock_key & 4294967295)`,
      [owner],
    );
    expect(killed).toHaveLength(1);
  };
  let replica: Replica;
  beforeEach(async () => void (replica = await open('watcher')));

  test('is not silent while it lives, however many look at once and whatever the lease says', async () => {
    const [other, run] = [await open('other'), await hold('other')];
    await Promise.all(Array.from({ length: 40 }, async () => expect(await silent()).toEqual([])));
    await sql.exec('update journal.runs set lease_until = 1');
    expect(await silent()).toEqual([]);
    // A pause keeps the lock: there the lease decides, as ever.
    expect(ids(await claim(replica.journal))).toEqual([run.runId]);
    await other.die();
  });

  test('is silent as soon as it is gone; its runs are due at once then, and its code is no replica’s', async () => {
    const other = await open('other');
    const runs = [await hold('other'), await hold('other')];
    await other.journal.renew('other', LEASE_MS);
    await other.journal.replicas.announce({ owner: 'other', leaseMs: LEASE_MS, codes: ['c'] });
    const own = await hold('watcher');
    await other.die();
    await until(async () => (await silent()).length > 0);
    expect(await silent()).toEqual(['other']);
    expect(await replica.journal.look('watcher')).toMatchObject({ isDue: false });
    expect(await replica.journal.expire(['other', 'watcher', 'nobody'])).toEqual(['other']);
    expect(await silent()).toEqual([]);
    expect(await replica.journal.replicas.listCodesOfOthers('watcher')).toEqual([]);
    expect(await replica.journal.look('watcher')).toMatchObject({ isDue: true });
    const taken = await claim(replica.journal, { owner: 'watcher' });
    expect(ids(taken)).toEqual(ids(runs));
    expect(taken.map(({ epoch, crashSeq }) => [epoch, crashSeq])).toEqual([
      [2, 0],
      [2, 0],
    ]);
    expect(await write(replica.journal, runs[0] as RunRow, 1)).toEqual({ outcome: 'fenced' });
    expect(await replica.journal.getRun(own.runId)).toMatchObject({ owner: 'watcher', epoch: 1 });
  });

  test('that waits for a time when it is gone is taken at that time', async () => {
    const [other, run] = [await open('other'), await hold('other')];
    const wakeAt = (await replica.journal.now()) + 60_000;
    await write(replica.journal, run, 0, { status: 'waiting', wakeAt });
    await other.die();
    await until(async () => (await silent()).length > 0);
    await replica.journal.expire(['other']);
    expect(await claim(replica.journal)).toEqual([]);
    expect((await replica.journal.look('watcher')).wake).toBeGreaterThan(30_000);
  });

  test('takes it again by itself when its connection is cut, and another does not end its leases', async () => {
    const other = await open('other');
    await hold('other');
    const before = await lockOf('other');
    await cut('other');
    await until(async () => ![before, null].includes(await lockOf('other')));
    expect(await silent()).toEqual([]);
    expect(await replica.journal.expire(['other'])).toEqual([]);
    await other.die();
    await until(async () => (await silent()).length > 0);
  });

  test('and has lost it a moment ago finds no one silent: the others may have lost theirs to the same', async () => {
    const other = await open('other');
    await hold('other');
    expect(replica.connection.isSteady).toBe(true);
    const before = await lockOf('watcher');
    await cut('watcher');
    await until(async () => ![before, null].includes(await lockOf('watcher')));
    await other.die();
    // Another that has lost nothing sees it.
    const third = await open('third');
    await until(async () => (await third.journal.look('third')).silent.length > 0);
    expect(replica.connection.isSteady).toBe(false);
    expect(await silent()).toEqual([]);
  });

  test('has runs that a commit has locked: they stay until that is over, and the rest is due', async () => {
    const other = await open('other');
    const [locked, free] = [await hold('other'), await hold('other')];
    await other.die();
    await until(async () => (await silent()).length > 0);
    await sql.transaction(async (tx) => {
      await tx.query('select 1 from journal.runs where run_id = $1 for update', [locked.runId]);
      expect(await replica.journal.expire(['other'])).toEqual(['other']);
      expect(ids(await claim(replica.journal))).toEqual([free.runId]);
      expect(await silent()).toEqual(['other']);
    });
    expect(await replica.journal.expire(['other'])).toEqual(['other']);
    expect(ids(await claim(replica.journal))).toEqual([locked.runId]);
  });

  test('holds none behind a pooler, where the lease alone decides', async () => {
    const pooled = await open('pooled', await openPooler(`${database.url}?options=-c%20search_path%3Dpublic`));
    await hold('pooled');
    await pooled.journal.renew('pooled', LEASE_MS);
    expect(await lockOf('pooled')).toBe(null);
    await pooled.die();
    expect(await silent()).toEqual([]);
    expect(await replica.journal.expire(['pooled'])).toEqual([]);
  });
});
