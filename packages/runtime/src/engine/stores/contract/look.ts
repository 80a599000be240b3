import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import type { Look } from '../../journal/leases.ts';
import { QUEUED, claim, createWaiting, ids, start, until, write } from './world.ts';
import type { World } from './world.ts';
import { newRun } from './records.ts';

/** What shows a sweep whether there is anything to do, and what claims rely on instead of reading all there is. */
export function describeLook(world: World): void {
  const look = (): Promise<Look> => world.journal.look('a');

  describe('look', () => {
    test('nothing to do in an empty journal, nor in one of finished, blocked, held and parked runs', async () => {
      const idle = {
        isDue: false,
        isHolding: false,
        isOverdue: false,
        isScheduled: false,
        timer: undefined,
        silent: [],
      };
      expect(await look()).toStrictEqual({ ...idle, now: expect.any(Number) as number, wake: undefined });
      await write(world.journal, await start(world.journal, newRun()), 0, { status: 'completed' });
      await write(world.journal, await start(world.journal, newRun()), 0, { status: 'blocked', release: true });
      await createWaiting(world.journal, null);
      await createWaiting(world.journal, (await world.journal.now()) + 60_000);
      await start(world.journal, newRun({ claim: { owner: 'b', leaseMs: 30_000 } }));
      const { now, wake, ...rest } = await look();
      expect(rest).toStrictEqual(idle);
      expect(Math.abs(now - (await world.journal.now()))).toBeLessThan(10_000);
      expect(wake).toBeGreaterThan(30_000);
      expect(wake).toBeLessThanOrEqual(60_000);
    });

    test('the own runs are held', async () => {
      await start(world.journal, newRun());
      expect(await look()).toMatchObject({ isHolding: true, isDue: false });
      expect(await world.journal.look('b')).toMatchObject({ isHolding: false });
    });

    test.each([
      ['a queued run', () => start(world.journal, newRun(QUEUED))],
      [
        'a run given back',
        async () => write(world.journal, await start(world.journal, newRun()), 0, { release: true }),
      ],
      ['a wake', () => createWaiting(world.journal, 1)],
      ['a run whose owner died', () => start(world.journal, newRun({ claim: { owner: 'gone', leaseMs: 0 } }))],
    ])('%s is due, until it is claimed', async (_name, make) => {
      await make();
      await until(async () => (await look()).isDue);
      expect(await claim(world.journal)).toHaveLength(1);
      expect(await look()).toMatchObject({ isDue: false });
    });

    test('a start that waits for a lock or a time may be due', async () => {
      const lock = { key: 's', triggerId: 't1', whenTaken: 'queue' } as const;
      await start(world.journal, newRun({ serial: { ...lock, triggerId: 't0' } }));
      await world.journal.create(newRun({ serial: lock }));
      expect(await look()).toMatchObject({ isDue: true });
    });
  });

  describe('leases of owners that renew', () => {
    test('a run whose owner has renewed and died is taken once its lease is over', async () => {
      const run = await start(world.journal, newRun({ claim: { owner: 'a', leaseMs: 30_000 } }));
      await world.journal.renew('a', 60_000);
      expect(await claim(world.journal)).toStrictEqual([]);
      await world.change((prefix) => `update ${prefix}runs set lease_until = 1`);
      await forget(1);
      expect(await world.journal.look('b')).toMatchObject({ isDue: true });
      expect(ids(await claim(world.journal))).toStrictEqual([run.runId]);
    });

    test('a takeover goes by nobody', async () => {
      const run = await start(world.journal, newRun());
      await world.journal.renew('a', 60_000);
      expect(ids(await claim(world.journal, { takeover: true }))).toStrictEqual([run.runId]);
    });

    test('of many owners those that died are found', async () => {
      const owners = Array.from({ length: 12 }, (_, n) => `owner-${n}`);
      const runs = [];
      for (const owner of owners) {
        runs.push(await start(world.journal, newRun({ claim: { owner, leaseMs: owner === 'owner-7' ? 0 : 30_000 } })));
        if (owner !== 'owner-7') await world.journal.renew(owner, 30_000);
      }
      await until(async () => (await look()).isDue);
      expect(ids(await claim(world.journal))).toStrictEqual([runs[7]?.runId]);
    });
  });

  /** Moves the time until which owners have renewed, where the store keeps it. */
  async function forget(time: number): Promise<void> {
    if (world.journal.adapter === 'postgres')
      await world.change((prefix) => `update ${prefix}owners set leased_until = ${time}`);
  }

  describe('idle locks among many that wait', () => {
    const lockOf = (n: number, limit = 1) => ({
      key: `key-${String(n).padStart(4, '0')}`,
      triggerId: newRunId(),
      whenTaken: 'queue' as const,
      limit,
    });

    test('are found a page of keys with each claim, wherever they are', async () => {
      const holders = await Promise.all(
        Array.from({ length: 120 }, (_, n) => start(world.journal, newRun({ serial: lockOf(n) }))),
      );
      await Promise.all(holders.map((_, n) => world.journal.create(newRun({ serial: lockOf(n) }))));
      // It names no run that comes next.
      for (const n of [3, 60, 119])
        await write(world.journal, holders[n] as (typeof holders)[0], 0, { status: 'completed' });
      const taken: string[] = [];
      for (let round = 0; round < 3; round++)
        taken.push(...(await claim(world.journal)).map(({ serialKey }) => serialKey as string));
      expect(taken).toStrictEqual(['key-0003', 'key-0060', 'key-0119']);
      // And from the first again.
      await write(world.journal, holders[4] as (typeof holders)[0], 0, { status: 'completed' });
      expect((await claim(world.journal)).map(({ serialKey }) => serialKey)).toStrictEqual(['key-0004']);
    });

    test('that have more to give than one commit gave go on with the next claim', async () => {
      for (let n = 0; n < 60; n++) {
        await start(world.journal, newRun({ serial: lockOf(n) }));
        await world.journal.create(newRun({ serial: lockOf(n) }));
      }
      const last = (limit: number) => newRun({ serial: { ...lockOf(999, limit), triggerId: newRunId() } });
      await start(world.journal, last(1));
      for (let n = 0; n < 250; n++) await world.journal.create(last(1));
      await world.journal.create(last(1_000));
      const counts: number[] = [];
      for (let round = 0; round < 3; round++)
        counts.push((await claim(world.journal, { limit: 500 })).filter((run) => run.serialKey === 'key-0999').length);
      expect(counts.reduce((sum, count) => sum + count)).toBe(251);
    });
  });
}
