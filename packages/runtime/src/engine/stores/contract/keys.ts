import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import { digestOf } from '../../serialize.ts';
import type { CreateResult, NewRun } from '../../journal/starts.ts';
import { claim, ids, QUEUED, start, until, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeKeys(world: World): void {
  describe('an idempotency key', () => {
    test('answers the first start again', async () => {
      const first = await start(world.journal, keyed());
      await write(world.journal, first, 1);
      const again = await world.journal.create(keyed({ input: '[2]' }));
      expect(again).toStrictEqual({ outcome: 'repeated', run: { ...first, seq: 1 } });
      expect(await world.journal.listRuns({}, { limit: 10 })).toHaveLength(1);
    });

    test('is refused with another digest', async () => {
      await start(world.journal, keyed());
      const other = { idempotency: { key: 'k', digest: 'e' } };
      expect(await world.journal.create(newRun(other))).toStrictEqual({ outcome: 'idempotency_conflict' });
      expect(await world.journal.listRuns({}, { limit: 10 })).toHaveLength(1);
    });

    test('answers it also for the digest that an earlier build kept', async () => {
      const { runId } = await start(world.journal, keyed());
      const again = { idempotency: { key: 'k', digest: 'e', older: 'd' } };
      expect(await world.journal.create(newRun(again))).toMatchObject({ outcome: 'repeated', run: { runId } });
    });

    test('finds its run, with what it stands for, until its life is over', async () => {
      expect(await world.journal.findByKey('k')).toBeUndefined();
      const run = await start(world.journal, keyed());
      expect(await world.journal.findByKey('k')).toStrictEqual({ run, digest: 'd' });
      await write(world.journal, run, 0, { status: 'failed' });
      expect(await world.journal.findByKey('k')).toMatchObject({ run: { runId: run.runId, status: 'failed' } });
      await world.ageKeys(DAY_MS + 1);
      expect(await world.journal.findByKey('k')).toBeUndefined();
    });

    test('of what a timer starts is kept with the run, as whoever fired it may be away for days', async () => {
      const fired = () => keyed({ trigger: 'schedule' });
      const run = await start(world.journal, fired());
      const queued = serial('t1');
      const other = { idempotency: { key: 'k2', digest: 'd' } };
      const holder = await start(world.journal, newRun(serial('t0')));
      await world.journal.create(keyed({ ...queued, ...other, trigger: 'schedule' }));
      await world.ageKeys(30 * DAY_MS);
      await claim(world.journal, { limit: 1 });
      expect(await world.journal.create(fired())).toMatchObject({ outcome: 'repeated', run: { runId: run.runId } });
      const again = await world.journal.create(keyed({ ...serial('t2'), ...other, trigger: 'schedule' }));
      expect(again).toStrictEqual({ outcome: 'repeated_queued', triggerId: 't1' });
      for (const { runId } of [run, holder]) await world.journal.cancel(runId, '2null', newRunId);
      await world.journal.deleteRun(run.runId);
      expect(await world.journal.create(fired())).toMatchObject({ outcome: 'created' });
    });

    test('that is to be kept is kept with the run it started, until that is deleted', async () => {
      const asked = () => keyed({ idempotency: { key: 'k', digest: 'd', isKept: true } });
      const run = await start(world.journal, asked());
      await world.journal.cancel(run.runId, '2null', newRunId);
      await world.ageKeys(30 * DAY_MS);
      await claim(world.journal, { limit: 1 });
      expect(await world.journal.create(asked())).toMatchObject({ outcome: 'repeated', run: { runId: run.runId } });
      await world.journal.deleteRun(run.runId);
      expect(await world.journal.create(asked())).toMatchObject({ outcome: 'created' });
    });

    test('of a child is kept with the run above it, which may ask for it again after days', async () => {
      const parent = await start(world.journal, newRun());
      const asked = () => keyed({ trigger: 'workflow', parentRunId: parent.runId });
      const child = await start(world.journal, asked());
      await world.journal.cancel(child.runId, '2null', newRunId);
      await world.ageKeys(30 * DAY_MS);
      await claim(world.journal, { limit: 1 });
      expect(await world.journal.create(asked())).toMatchObject({ outcome: 'repeated', run: { runId: child.runId } });
    });

    test('first used by many at once, each with its own, makes a run of each', async () => {
      const keys = Array.from({ length: 60 }, (_, n) => `k${n}`);
      const create = (key: string) => world.journal.create(keyed({ idempotency: { key, digest: 'd' } }));
      const first = await Promise.all(keys.map(create));
      expect(new Set(first.map(({ outcome }) => outcome))).toStrictEqual(new Set(['created']));
      const mixed = await Promise.all([...keys.slice(0, 3), 'new'].map(create));
      expect(mixed.map(({ outcome }) => outcome)).toStrictEqual(['repeated', 'repeated', 'repeated', 'created']);
      expect(await world.journal.listRuns({}, { limit: 100 })).toHaveLength(61);
    });

    test('finds no run while its start queues, and then the run that became of it', async () => {
      const holder = await start(world.journal, newRun(serial('t0')));
      await world.journal.create(keyed(serial('t1')));
      expect(await world.journal.findByKey('k')).toBeUndefined();
      const nextRunId = newRunId();
      await world.journal.append(newAppend(holder, { patch: { status: 'completed' }, nextRunId }));
      expect(await world.journal.findByKey('k')).toMatchObject({ run: { runId: nextRunId }, digest: 'd' });
    });

    test('does not reach another key', async () => {
      await start(world.journal, keyed());
      await start(world.journal, keyed({ idempotency: { key: 'K', digest: 'd' } }));
    });

    test('used by 50 creates at once makes one run', async () => {
      const journals = [world.journal, await world.open()] as const;
      // Several rounds: a server's client opens its connections in the first.
      for (const key of ['a', 'b', 'c']) {
        const given = { idempotency: { key, digest: 'd' } };
        const sent = Array.from({ length: 50 }, (_, n) => (n % 2 ? journals[0] : journals[1]).create(keyed(given)));
        const results = await Promise.all(sent);
        expect(results.filter((result) => result.outcome === 'created')).toHaveLength(1);
        expect(results.filter((result) => result.outcome === 'repeated')).toHaveLength(49);
        const runs = results.map((result) => (result as { run: { runId: string } }).run);
        expect(new Set(ids(runs)).size).toBe(1);
      }
      expect(await world.journal.listRuns({}, { limit: 10 })).toHaveLength(3);
    });

    test('answers `created` to the same start sent twice', async () => {
      const run = keyed();
      const [one, two] = [await world.journal.create(run), await world.journal.create(run)];
      expect(one.outcome).toBe('created');
      expect(two).toStrictEqual(one);
    });

    test('is forgotten after 24 hours', async () => {
      const first = await start(world.journal, keyed());
      await world.ageKeys(DAY_MS - 60_000);
      expect(await world.journal.create(keyed())).toMatchObject({ outcome: 'repeated' });
      await world.ageKeys(60_001);
      const second = await start(world.journal, keyed({ idempotency: { key: 'k', digest: 'e' } }));
      expect(second.runId).not.toBe(first.runId);
      const again = await world.journal.create(keyed({ idempotency: { key: 'k', digest: 'e' } }));
      expect(again).toMatchObject({ outcome: 'repeated', run: { runId: second.runId } });
    });

    test('that is old goes with all others, however many they are', async () => {
      await world.change(
        (prefix) => `
        insert into ${prefix}idempotency_keys (key, digest, start_id, created_at)
        with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 5000)
        select 'k' || n, 'd', 'r' || n, 0 from numbers`,
      );
      await start(world.journal, keyed());
      await claim(world.journal);
      await until(async () => (await world.count('idempotency_keys')) === 1);
    });

    test('answers a use of an earlier build, which kept the input as its digest', async () => {
      const first = await start(world.journal, keyed({ idempotency: { key: 'k', digest: '2{"a":1}' } }));
      const digest = digestOf('2{"a":1}');
      const again = await world.journal.create(keyed({ idempotency: { key: 'k', digest } }));
      expect(again).toStrictEqual({ outcome: 'repeated', run: first });
    });

    test('can be any string', async () => {
      const idempotency = { key: '\0k\ud800', digest: `'\0` };
      const first = await start(world.journal, keyed({ idempotency }));
      expect(await world.journal.create(keyed({ idempotency }))).toStrictEqual({ outcome: 'repeated', run: first });
    });

    test('answers the queued start, and later the run it became', async () => {
      const holder = await start(world.journal, newRun(serial('t0')));
      const queued: CreateResult = { outcome: 'queued', triggerId: 't1' };
      expect(await world.journal.create(keyed(serial('t1')))).toStrictEqual(queued);
      expect(await world.journal.create(keyed(serial('t2')))).toStrictEqual({
        outcome: 'repeated_queued',
        triggerId: 't1',
      });
      const nextRunId = newRunId();
      await world.journal.append(newAppend(holder, { patch: { status: 'completed' }, nextRunId }));
      const again = await world.journal.create(keyed(serial('t3')));
      expect(again).toMatchObject({ outcome: 'repeated', run: { runId: nextRunId, triggerId: 't1' } });
      expect(await world.journal.queue.list({}, { limit: 10 })).toStrictEqual([]);
    });

    test('is free again once its queued start is dropped, or its run deleted', async () => {
      const holder = await start(world.journal, newRun(serial('t0')));
      await world.journal.create(keyed(serial('t1')));
      await world.journal.queue.remove('t1');
      expect(await world.journal.create(keyed(serial('t2')))).toStrictEqual({ outcome: 'queued', triggerId: 't2' });
      await world.journal.queue.remove('t2');
      await write(world.journal, holder, 0, { status: 'completed' });
      const run = await start(world.journal, keyed());
      await write(world.journal, run, 0, { status: 'failed' });
      await world.journal.deleteRun(run.runId);
      expect(await world.journal.create(keyed())).toMatchObject({ outcome: 'created' });
    });

    test('is not used up by a start that was refused', async () => {
      const holder = await start(world.journal, newRun(serial('t0')));
      const refused = { ...serial('t1'), serial: { key: 's', triggerId: 't1', whenTaken: 'refuse' } } as const;
      expect(await world.journal.create(keyed(refused))).toStrictEqual({ outcome: 'refused', holder });
      await write(world.journal, holder, 0, { status: 'completed' });
      expect(await world.journal.create(keyed(refused))).toMatchObject({ outcome: 'created' });
    });
  });

  describe('a run that begins with records', () => {
    test('has them at the first positions and goes on behind them', async () => {
      const records = [newRecord(0), newRecord(1, { event: 'failed', output: null, error: '["x"]' })];
      const run = await start(world.journal, newRun({ records, seed: 'seed', retryOf: 'r1' }));
      expect(run).toMatchObject({ seq: 2, seed: 'seed', totalTokens: 0 });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(run);
      const next = newRecord(2);
      await world.journal.append(newAppend(run, { records: [next] }));
      expect(await world.journal.getRecords(run.runId)).toStrictEqual([...records, next]);
    });

    test('has them once, when it is created twice', async () => {
      const given = newRun({ records: [newRecord(0)] });
      const first = await start(world.journal, given);
      expect(await start(world.journal, given)).toStrictEqual(first);
      expect(await world.journal.getRecords(first.runId)).toStrictEqual(given.records);
    });
  });
}

// --- internal ---

const DAY_MS = 24 * 60 * 60 * 1000;

function keyed(fields: Partial<NewRun> = {}): NewRun {
  return newRun({ idempotency: { key: 'k', digest: 'd' }, ...fields });
}

function serial(triggerId: string): Partial<NewRun> {
  return { ...QUEUED, serial: { key: 's', triggerId, whenTaken: 'queue' } };
}
