import { describe, expect, test } from 'vitest';
import { createDeferred } from '../../../stores/deferred.ts';
import type { QueryOptions, SqlClient } from '../../../stores/sql.ts';
import { newRunId } from '../../ids.ts';
import type { Journal } from '../../journal.ts';
import type { Append } from '../../journal/appends.ts';
import type { NewHook } from '../../journal/hooks.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { describeJournal } from '../contract/journal.ts';
import { start } from '../contract/world.ts';
import { openPostgresJournal } from './journal.ts';
import { POSTGRES_VERSION } from './schema.ts';
import { newAppend, newRecord, newRun } from '../contract/records.ts';
import { createPlace, createPlaces } from './_places.ts';

/** All that a journal is to do on PostgreSQL, wherever that runs. */
export function describePostgresJournal(sql: () => SqlClient): void {
  describeJournal('contract', POSTGRES_VERSION, createPlaces(sql));
  describeSchema(sql);
  describeFaults(sql);
}

// --- internal ---

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
  /** What happens to the next statements, one each; afterwards all is well. */
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
    const run = await start(journal, newRun());
    sent.length = 0;
    await work({ journal, run, sent, break: (...next) => void faults.push(...next) });
    await place.remove();
  };
  const unavailable = { code: 'store_unavailable', details: { retryAfter: 1 } };

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
        expect(await start(journal, one)).toStrictEqual(await journal.getRun(one.runId));
        broken.break('before');
        await expect(journal.create(two)).rejects.toMatchObject(unavailable);
        expect(await journal.getRun(two.runId)).toBeUndefined();
      }));

    test.each(['before', 'after'] as const)('a batch cut %s its commit answers each of its callers truly', (fault) =>
      withBroken(async ({ journal, run, ...broken }) => {
        const lost = await start(journal, newRun());
        broken.break(fault);
        const sent = [oneRecord(run), { ...oneRecord(lost), epoch: 0 }].map((entry) => journal.append(entry));
        const results = await Promise.allSettled([...sent, journal.create(newRun())]);
        const [mine, fenced, created] = results.map((result) => result.status === 'fulfilled');
        expect([mine, fenced, created]).toStrictEqual([fault === 'after', true, fault === 'after']);
        expect(await sent[1]).toStrictEqual({ outcome: 'fenced' });
        expect(await journal.getRecords(run.runId)).toHaveLength(fault === 'after' ? 1 : 0);
      }),
    );

    test.each(['before', 'after'] as const)('starts with locks, cut %s their commit, are answered truly', (fault) =>
      withBroken(async ({ journal, ...broken }) => {
        const locked = (key: string): NewRun =>
          newRun({ serial: { key, triggerId: `${key} ${newRunId()}`, whenTaken: 'refuse' } });
        await start(journal, locked('taken'));
        const runs = ['a', 'b', 'taken', 'c'].map(locked);
        broken.break(fault);
        const answers = await Promise.allSettled(runs.map((run) => journal.create(run)));
        // Whether the lock was taken has to be asked again in either case.
        const isThere = answers.map(({ status }) => status === 'fulfilled');
        expect(isThere).toStrictEqual(runs.map((_, n) => fault === 'after' && n !== 2));
        const again = await Promise.all(runs.map((run) => journal.create(run)));
        expect(again.map(({ outcome }) => outcome)).toStrictEqual(['created', 'created', 'refused', 'created']);
        expect(await journal.listRuns({ name: 'refund' }, { limit: 9 })).toHaveLength(5);
      }),
    );

    test('a start with a key that was committed is found, one that was not rejects', () =>
      withBroken(async ({ journal, ...broken }) => {
        const keyed = (key: string): NewRun => newRun({ idempotency: { key, digest: 'd' } });
        broken.break('after');
        const first = await start(journal, keyed('k'));
        expect(await journal.create(keyed('k'))).toStrictEqual({ outcome: 'repeated', run: first });
        const other = keyed('l');
        broken.break('before');
        await expect(journal.create(other)).rejects.toMatchObject(unavailable);
        expect(await journal.create(other)).toMatchObject({ outcome: 'created', run: { runId: other.runId } });
      }));

    test('a start that queued is found and queues once', () =>
      withBroken(async ({ journal, ...broken }) => {
        await journal.create(serialRun('t0'));
        broken.break('after');
        expect(await journal.create(serialRun('t1'))).toStrictEqual({ outcome: 'queued', triggerId: 't1' });
        expect(await journal.queue.list({}, { limit: 9 })).toHaveLength(1);
      }));

    test('an end that passed its lock on answers the promoted run, and promotes once', () =>
      withBroken(async ({ journal, ...broken }) => {
        const holder = await start(journal, serialRun('t0'));
        for (const id of ['t1', 't2']) await journal.create(serialRun(id));
        const nextRunId = newRunId();
        broken.break('after');
        const entry = newAppend(holder, { records: [newRecord(0)], patch: { status: 'completed' }, nextRunId });
        const promoted = { runId: nextRunId, triggerId: 't1' };
        expect(await journal.append(entry)).toMatchObject({ outcome: 'appended', promoted });
        expect(await journal.queue.list({}, { limit: 9 })).toMatchObject([{ triggerId: 't2' }]);
        const next = await start(journal, serialRun('', 'other'));
        const lost = newAppend(next, { patch: { status: 'completed' }, nextRunId: newRunId() });
        broken.break('before');
        await expect(journal.append(lost)).rejects.toMatchObject(unavailable);
        expect(await journal.append(lost)).toMatchObject({ outcome: 'appended' });
      }));

    test('an append whose answer was lost still answers which hooks were refused', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        const hook = (token: string): NewHook => ({
          token,
          call: 0,
          kind: 'hook',
          many: false,
          detail: null,
          since: 0,
        });
        const other = await start(journal, newRun());
        await journal.append(newAppend(other, { hooks: [hook('t')] }));
        broken.break('after');
        const entry = { ...oneRecord(run), hooks: [hook('t'), hook('u')] };
        expect(await journal.append(entry)).toMatchObject({ outcome: 'appended', refused: ['t'] });
      }));

    test('a resume or a cancel whose outcome is unknown rejects, and its repeat is answered', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        const hook: NewHook = { token: 't', call: 0, kind: 'hook', many: false, detail: null, since: 0 };
        await journal.append(newAppend(run, { hooks: [hook] }));
        broken.break('after');
        await expect(journal.hooks.resume('t', '[1]')).rejects.toMatchObject(unavailable);
        expect(await journal.hooks.resume('t', '[2]')).toMatchObject({ outcome: 'already', event: { payload: '[1]' } });
        broken.break('after');
        await expect(journal.cancel(run.runId, '[]', newRunId)).rejects.toMatchObject(unavailable);
        expect(await journal.cancel(run.runId, '[]', newRunId)).toMatchObject({ outcome: 'final' });
      }));

    test('a server that ends the session leaves the outcome unknown', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        broken.break({ code: '57P01' });
        await expect(journal.append(oneRecord(run))).rejects.toMatchObject(unavailable);
      }));
  });

  test("replicas that end each other's children while they append to the parents meet no deadlock", async () => {
    const place = createPlace(sql());
    const deadlocks: unknown[] = [];
    const open = (): Promise<Journal> =>
      openPostgresJournal({ sql: watchClient(sql(), (error) => deadlocks.push(error)), schema: place.schema });
    const [one, two] = [await open(), await open()];
    const parents = await Promise.all(Array.from({ length: 60 }, () => start(one, newRun())));
    const children = await Promise.all(parents.map(({ runId }) => start(one, newRun({ parentRunId: runId }))));
    const sent = parents.flatMap((parent, index) => {
      const [mine, other] = index % 2 ? [one, two] : [two, one];
      const end = newAppend(children[index] as RunRow, { patch: { status: 'completed' } });
      return [mine.append(oneRecord(parent)), other.append(end), mine.append(oneRecord({ ...parent, seq: 1 }))];
    });
    await Promise.all(sent);
    for (const { runId } of parents) expect(await one.getRun(runId)).toMatchObject({ signals: 1, seq: 2 });
    expect(deadlocks).toStrictEqual([]);
    await place.remove();
  });

  test('a tree that is cancelled while all of it appends meets no deadlock', async () => {
    const place = createPlace(sql());
    const deadlocks: unknown[] = [];
    const open = (): Promise<Journal> =>
      openPostgresJournal({ sql: watchClient(sql(), (error) => deadlocks.push(error)), schema: place.schema });
    const [one, two] = [await open(), await open()];
    for (let round = 0; round < 4; round++) {
      const root = await start(one, newRun());
      const runs = await Promise.all(
        Array.from({ length: 300 }, () => start(one, newRun({ parentRunId: root.runId }))),
      );
      const progress = { appended: 0 };
      const busy = runs.map(async (run, index) => {
        for (let seq = 0; ; seq++, progress.appended++) {
          const result = await (index % 2 ? one : two).append(oneRecord({ ...run, seq }));
          if (result.outcome !== 'appended') return;
        }
      });
      while (progress.appended < 600) await new Promise((resolve) => setImmediate(resolve));
      expect(await one.cancel(root.runId, '[]', newRunId)).toMatchObject({ cancelled: { length: 301 } });
      await Promise.all(busy);
    }
    expect(deadlocks).toStrictEqual([]);
    await place.remove();
  });

  test('a start that is large holds up no other, with a lock or a key', async () => {
    const place = createPlace(sql());
    const sent = createDeferred();
    const slow: SqlClient = {
      ...sql(),
      async query<Row>(text: string, params?: unknown[], options?: QueryOptions) {
        if (String(params).length > 1_500_000) await sent.promise;
        return sql().query<Row>(text, params, options);
      },
    };
    const journal = await openPostgresJournal({ sql: slow, schema: place.schema });
    const input = `"${'x'.repeat(2_000_000)}"`;
    const locked = (key: string): Partial<NewRun> => ({ serial: { key, triggerId: key, whenTaken: 'refuse' } });
    const keyed = (key: string): Partial<NewRun> => ({ idempotency: { key, digest: 'd' } });
    const large = [locked('a'), keyed('a')].map((fields) => journal.create(newRun({ ...fields, input })));
    for (const fields of [locked('b'), keyed('b')])
      expect(await journal.create(newRun(fields))).toMatchObject({ outcome: 'created' });
    sent.resolve();
    for (const result of await Promise.all(large)) expect(result).toMatchObject({ outcome: 'created', run: { input } });
    await place.remove();
  });

  describe('when the database refuses a statement', () => {
    test('a deadlock is tried again', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        broken.break({ code: '40P01' }, { code: '40P01' });
        expect(await journal.append(oneRecord(run))).toMatchObject({ outcome: 'appended' });
        broken.break({ code: '40P01' }, { code: '40001' });
        expect(await journal.create(serialRun('t'))).toMatchObject({ outcome: 'created' });
        broken.break({ code: '40P01' });
        expect(await journal.cancel(run.runId, '[]', newRunId)).toMatchObject({ outcome: 'cancelled' });
      }));

    test('what the database undoes for the sake of others is done again, and unavailable when it never ends', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        const undone = (count: number) => broken.break(...Array.from({ length: count }, () => ({ code: '40001' })));
        undone(5);
        expect(await journal.append(oneRecord(run))).toMatchObject({ outcome: 'appended' });
        undone(5);
        expect(await journal.deleteRuns([run.runId])).toEqual([]);
        const calls = [
          () => journal.append(oneRecord({ ...run, seq: 1 })),
          () => journal.create(newRun()),
          () => journal.create(serialRun('t')),
          () => journal.cancel(run.runId, '[]', newRunId),
          () => journal.getRun(run.runId),
        ];
        for (const call of calls) {
          undone(6);
          await expect(call()).rejects.toMatchObject(unavailable);
        }
        // Last: it has old keys deleted beside it, by statements of their own.
        undone(5);
        expect(await journal.claim({ owner: 'b', leaseMs: 1_000, limit: 1 })).toEqual([]);
      }));

    test('a long history is read a page at a time, each a statement with its own limit', () =>
      withBroken(async ({ journal, run, sent }) => {
        const records = Array.from({ length: 600 }, (_, seq) => newRecord(seq));
        await journal.append(newAppend(run, { records }));
        sent.length = 0;
        expect(await journal.getRecords(run.runId)).toStrictEqual(records);
        expect(sent).toHaveLength(3);
      }));

    test('another refusal reaches the caller as it is', () =>
      withBroken(async ({ journal, run, ...broken }) => {
        broken.break({ code: '53100' });
        await expect(journal.append(oneRecord(run))).rejects.toMatchObject({ code: '53100' });
      }));

    test('a value the database cannot hold rejects its own caller only', () =>
      withBroken(async ({ journal, run }) => {
        const other = await start(journal, newRun());
        const bad = newAppend(other, { records: [newRecord(0, { attempt: 2 ** 40 })] });
        const [good, refused] = await Promise.allSettled([journal.append(oneRecord(run)), journal.append(bad)]);
        expect(good).toMatchObject({ value: { outcome: 'appended' } });
        expect(refused).toMatchObject({ reason: { name: 'UnstorableError', cause: { code: '22003' } } });
      }));
  });
}

function serialRun(triggerId: string, key = 's'): NewRun {
  return newRun({ claim: null, serial: { key, triggerId, whenTaken: 'queue' } });
}

function oneRecord(run: RunRow): Append {
  return newAppend(run, { records: [newRecord(run.seq)], patch: { totalTokens: 7 } });
}

/** Notes every deadlock the database ends. */
function watchClient(sql: SqlClient, onDeadlock: (error: unknown) => void): SqlClient {
  const watch = async <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      if ((error as { code?: string }).code === '40P01') onDeadlock(error);
      throw error;
    });
  return {
    ...sql,
    query: (text, params, options) => watch(sql.query(text, params, options)),
    transaction: (work) => watch(sql.transaction(work)),
  };
}

/** A transaction is broken as a whole, like a statement. */
function breakClient(sql: SqlClient, faults: (Fault | 'none')[], sent: string[]): SqlClient {
  async function suffer<T>(work: () => Promise<T>): Promise<T> {
    const fault = faults.shift() ?? 'none';
    if (fault === 'before') throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    if (typeof fault === 'object') throw Object.assign(new Error('The database says no.'), fault);
    const result = await work();
    if (fault === 'after') throw new Error('Connection terminated unexpectedly');
    return result;
  }
  return {
    ...sql,
    query: <Row>(text: string, params?: unknown[]) =>
      suffer(() => {
        sent.push(text);
        return sql.query<Row>(text, params);
      }),
    transaction: (work) => suffer(() => sql.transaction(work)),
  };
}
