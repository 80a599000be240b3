import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SqlClient } from '../../stores/sql.ts';
import type { Append, Journal, RunRow } from '../journal.ts';
import { createDatabase, openPgClient, toPgliteClient } from './_clients.ts';
import { describeJournal } from './contract.ts';
import type { JournalPlace } from './contract.ts';
import { openPostgresJournal } from './postgres.ts';
import { newAppend, newRecord, newRun } from './records.ts';

describe('Postgres journal on PGlite', () => {
  let sql: SqlClient;
  beforeAll(async () => {
    sql = toPgliteClient(await PGlite.create());
  });
  afterAll(() => sql.close());
  describeJournal('contract', async () => createPlace(sql));
  describeSchema(() => sql);
  describeFaults(() => sql);
});

const server = process.env.SVC_TEST_DATABASE_URL;

describe.skipIf(!server)(`Postgres journal on a server${server ? '' : ': SVC_TEST_DATABASE_URL is not set'}`, () => {
  let database: { url: string; drop(): Promise<void> };
  let sql: SqlClient;
  beforeAll(async () => {
    database = await createDatabase(server ?? '');
    sql = openPgClient(database.url);
  });
  afterAll(async () => {
    await sql.close();
    await database.drop();
  });
  describeJournal('contract', async () => createPlace(sql));
  describeSchema(() => sql);
  describeFaults(() => sql);
});

// --- internal ---

const schemas = (function* names(): Generator<string, never> {
  for (let n = 1; ; n++) yield `journal_${n}`;
})();

function createPlace(sql: SqlClient): JournalPlace & { schema: string } {
  const schema = schemas.next().value;
  return {
    schema,
    open: () => openPostgresJournal({ sql, schema }),
    remove: () => sql.exec(`drop schema ${schema} cascade`),
  };
}

function describeSchema(sql: () => SqlClient): void {
  test('of journals that open together one migrates, and all of them work', async () => {
    const place = createPlace(sql());
    const journals = await Promise.all([1, 2, 3, 4].map(() => place.open()));
    await Promise.all(journals.map((journal) => journal.create(newRun())));
    expect(await journals[0]?.listRuns({}, { limit: 10 })).toHaveLength(4);
    await place.remove();
  });

  test('the schema of a newer release is refused and stays as it is', async () => {
    const place = createPlace(sql());
    await place.open();
    await sql().exec(`update ${place.schema}.schema_version set version = 99`);
    await expect(place.open()).rejects.toMatchObject({ code: 'database_newer' });
    expect(await sql().query(`select version from ${place.schema}.schema_version`)).toEqual([{ version: 99 }]);
    await place.remove();
  });

  test('a name that is no plain identifier is refused', async () => {
    await expect(openPostgresJournal({ sql: sql(), schema: 'a"; drop' })).rejects.toThrow('"a"; drop" cannot be');
  });
}

/** What happens to a statement: it is not sent, it is sent and its answer lost, or the database refuses it. */
type Fault = 'before' | 'after' | { code: string };

interface Broken {
  journal: Journal;
  run: RunRow;
  /** What becomes of the next statements, one each; afterwards all is well. */
  break(...faults: (Fault | 'none')[]): void;
  /** The statements sent since. */
  sent: string[];
}

function describeFaults(sql: () => SqlClient): void {
  const withBroken = async (work: (broken: Broken) => Promise<void>): Promise<void> => {
    const place = createPlace(sql());
    await place.open();
    const faults: (Fault | 'none')[] = [];
    const sent: string[] = [];
    const journal = await openPostgresJournal({ sql: breakClient(sql(), faults, sent), schema: place.schema });
    const run = await journal.create(newRun());
    sent.length = 0;
    await work({ journal, run, sent, break: (...next) => void faults.push(...next) });
    await place.remove();
  };
  const unavailable = { code: 'store_unavailable' };

  describe('when the connection breaks', () => {
    test('an append that was committed is found by its record id and not sent again', () =>
      withBroken(async ({ journal, run, sent, ...broken }) => {
        broken.break('after');
        expect(await journal.append(oneRecord(run))).toMatchObject({ outcome: 'appended' });
        expect(sent.filter((text) => text.includes('insert into'))).toHaveLength(1);
        expect(await journal.getRecords(run.runId)).toHaveLength(1);
      }));

    test('an append that was not committed rejects, and its repeat lands', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        const entry = oneRecord(run);
        broken.break('before');
        await expect(journal.append(entry)).rejects.toMatchObject(unavailable);
        expect(await journal.getRecords(run.runId)).toStrictEqual([]);
        expect(await journal.append(entry)).toMatchObject({ outcome: 'appended' });
        expect(await journal.getRun(run.runId)).toMatchObject({ seq: 1, totalTokens: 7 });
      }));

    test('an append whose outcome cannot be read either rejects, and its repeat writes nothing twice', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        const entry = oneRecord(run);
        broken.break('after', 'before');
        await expect(journal.append(entry)).rejects.toMatchObject(unavailable);
        expect(await journal.append(entry)).toMatchObject({ outcome: 'appended' });
        expect(await journal.getRecords(run.runId)).toStrictEqual(entry.records);
      }));

    test('an end without records that was committed is found', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        broken.break('after');
        const end = newAppend(run, { patch: { status: 'completed', output: '[1]' } });
        expect(await journal.append(end)).toMatchObject({ outcome: 'appended' });
      }));

    test('a create that was committed answers the stored run, one that was not rejects', () =>
      withBroken(async ({ journal, ...broken }) => {
        const [one, two] = [newRun(), newRun()];
        broken.break('after');
        expect(await journal.create(one)).toStrictEqual(await journal.getRun(one.runId));
        broken.break('before');
        await expect(journal.create(two)).rejects.toMatchObject(unavailable);
        expect(await journal.getRun(two.runId)).toBeUndefined();
      }));

    test.each(['before', 'after'] as const)('a batch cut %s its commit answers each of its callers truly', (fault) =>
      withBroken(async ({ journal, run, ...broken }) => {
        const lost = await journal.create(newRun());
        broken.break(fault);
        const sent = [oneRecord(run), { ...oneRecord(lost), epoch: 0 }].map((entry) => journal.append(entry));
        const results = await Promise.allSettled([...sent, journal.create(newRun())]);
        const [mine, fenced, created] = results.map((result) => result.status === 'fulfilled');
        expect([mine, fenced, created]).toStrictEqual([fault === 'after', true, fault === 'after']);
        expect(await sent[1]).toStrictEqual({ outcome: 'fenced' });
        expect(await journal.getRecords(run.runId)).toHaveLength(fault === 'after' ? 1 : 0);
      }),
    );

    test('a server that ends the session leaves the outcome unknown', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        broken.break({ code: '57P01' });
        await expect(journal.append(oneRecord(run))).rejects.toMatchObject(unavailable);
      }));
  });

  describe('when the database refuses a statement', () => {
    test('a deadlock is tried again', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        broken.break({ code: '40P01' }, { code: '40P01' });
        expect(await journal.append(oneRecord(run))).toMatchObject({ outcome: 'appended' });
      }));

    test('another refusal reaches the caller as it is', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        broken.break({ code: '53100' });
        await expect(journal.append(oneRecord(run))).rejects.toMatchObject({ code: '53100' });
      }));

    test('a value the database cannot hold rejects its own caller only', () =>
      withBroken(async ({ journal, run }) => {
        const other = await journal.create(newRun());
        const bad = newAppend(other, { records: [newRecord(0, { attempt: 2 ** 40 })] });
        const [good, refused] = await Promise.allSettled([journal.append(oneRecord(run)), journal.append(bad)]);
        expect(good).toMatchObject({ value: { outcome: 'appended' } });
        expect(refused.status).toBe('rejected');
      }));
  });
}

function oneRecord(run: RunRow): Append {
  return newAppend(run, { records: [newRecord(run.seq)], patch: { totalTokens: 7 } });
}

function breakClient(sql: SqlClient, faults: (Fault | 'none')[], sent: string[]): SqlClient {
  return {
    ...sql,
    async query<Row>(text: string, params?: unknown[]) {
      const fault = faults.shift() ?? 'none';
      if (fault === 'before') throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
      if (typeof fault === 'object') throw Object.assign(new Error('The database says no.'), fault);
      sent.push(text);
      const rows = await sql.query<Row>(text, params);
      if (fault === 'after') throw new Error('Connection terminated unexpectedly');
      return rows;
    },
  };
}
