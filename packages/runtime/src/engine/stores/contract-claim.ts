import { describe, expect, test } from 'vitest';
import { newRunId } from '../ids.ts';
import type { Journal, RunRow } from '../journal.ts';
import { QUEUED, claim, createWaiting, ids, read, start, until, write } from './contract-world.ts';
import type { World } from './contract-world.ts';
import { newRun } from './records.ts';

export function describeClaim(world: World): void {
  describe('claim', () => {
    test('a claimed run has the owner, a lease, a higher epoch and runs', async () => {
      const created = await start(world.journal, newRun(QUEUED));
      const before = await world.journal.now();
      const [taken] = await claim(world.journal, { leaseMs: 1_000 });
      if (!taken?.startedAt) throw new Error('The run was not taken.');
      const { leaseUntil, startedAt } = taken;
      expect(taken).toStrictEqual({ ...created, status: 'running', owner: 'b', epoch: 1, leaseUntil, startedAt });
      expect(startedAt).toBeGreaterThanOrEqual(before);
      expect(leaseUntil).toBe(startedAt + 1_000);
      expect(await world.journal.getRun(created.runId)).toStrictEqual(taken);
    });

    test('the start is set once', async () => {
      await start(world.journal, newRun(QUEUED));
      const [first] = await claim(world.journal, { leaseMs: 0 });
      await until(async () => (await world.journal.now()) > (first?.startedAt ?? 0));
      const [second] = await claim(world.journal);
      expect(second).toMatchObject({ epoch: 2, startedAt: first?.startedAt });
    });

    test('expired leases go first, then due wakes, then queued runs, each oldest first', async () => {
      const now = await world.journal.now();
      const queued = [await start(world.journal, newRun(QUEUED)), await start(world.journal, newRun(QUEUED))];
      const later = await createWaiting(world.journal, now - 10);
      const sooner = await createWaiting(world.journal, now - 20);
      const expired = [0, -50].map((leaseMs) => start(world.journal, newRun({ claim: { owner: 'a', leaseMs } })));
      const [lately, longAgo] = await Promise.all(expired);
      const order = [longAgo, lately, sooner, later, ...queued] as RunRow[];
      expect(ids(await claim(world.journal, { limit: 3 }))).toStrictEqual(ids(order.slice(0, 3)));
      expect(ids(await claim(world.journal))).toStrictEqual(ids(order.slice(3)));
      expect(await claim(world.journal)).toStrictEqual([]);
    });

    test('a run given back while it was running is taken', async () => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 0, { release: true });
      expect(ids(await claim(world.journal))).toStrictEqual([run.runId]);
    });

    test('a run whose lease holds is not taken, by its own owner neither', async () => {
      await start(world.journal, newRun());
      expect(await claim(world.journal)).toStrictEqual([]);
      expect(await claim(world.journal, { owner: 'a' })).toStrictEqual([]);
    });

    test('a waiting run is taken once it is due, and never without a wake', async () => {
      const now = await world.journal.now();
      const soon = await createWaiting(world.journal, now + 60);
      await createWaiting(world.journal, null);
      await createWaiting(world.journal, now + 60_000);
      expect(await claim(world.journal, { limit: 0 })).toStrictEqual([]);
      let taken: RunRow[] = [];
      await until(async () => (taken = await claim(world.journal)).length > 0);
      expect(ids(taken)).toStrictEqual([soon.runId]);
      expect(taken[0]?.startedAt).toBeGreaterThanOrEqual(now);
      expect(await world.journal.now()).toBeGreaterThanOrEqual(now + 60);
    });

    test('a waiting run whose owner died is taken once it is due', async () => {
      const now = await world.journal.now();
      const lapsed = { claim: { owner: 'a', leaseMs: 0 } };
      const due = await start(world.journal, newRun(lapsed));
      await write(world.journal, due, 0, { status: 'waiting', wakeAt: now - 1 });
      const notDue = await start(world.journal, newRun(lapsed));
      await write(world.journal, notDue, 0, { status: 'waiting', wakeAt: now + 60_000 });
      expect(ids(await claim(world.journal))).toStrictEqual([due.runId]);
    });

    test('blocked and final runs are never taken', async () => {
      for (const status of ['blocked', 'completed', 'failed', 'cancelled'] as const) {
        const run = await start(world.journal, newRun({ claim: { owner: 'a', leaseMs: 0 } }));
        await write(world.journal, run, 0, { status, wakeAt: 1 });
        expect(await world.journal.claimRun(run.runId, { owner: 'b', leaseMs: 1_000 })).toBeUndefined();
      }
      expect(await claim(world.journal)).toStrictEqual([]);
      expect(await claim(world.journal, { takeover: true })).toStrictEqual([]);
    });

    test('two claimers at once never get the same run, and between them get all', async () => {
      const other = await world.open();
      const runs = await Promise.all(Array.from({ length: 120 }, () => start(world.journal, newRun(QUEUED))));
      const taken: RunRow[] = [];
      const drain = async (from: Journal, owner: string): Promise<void> => {
        for (let idle = 0; idle < 3;) {
          const batch = await claim(from, { owner, limit: 7 });
          idle = batch.length === 0 ? idle + 1 : 0;
          taken.push(...batch);
        }
      };
      await Promise.all([drain(world.journal, 'a'), drain(world.journal, 'b'), drain(other, 'c'), drain(other, 'd')]);
      expect(ids(taken).sort()).toStrictEqual(ids(runs).sort());
      for (const run of taken) expect((await read(world.journal, run.runId)).owner).toBe(run.owner);
    });
  });

  describe('claimRun', () => {
    test('takes the one run it is asked for', async () => {
      await start(world.journal, newRun(QUEUED));
      const run = await start(world.journal, newRun(QUEUED));
      const taken = await world.journal.claimRun(run.runId, { owner: 'b', leaseMs: 1_000 });
      expect(taken).toMatchObject({ runId: run.runId, owner: 'b', epoch: 1, status: 'running' });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(taken);
    });

    test('a run another owner holds is not to be had; one whose lease expired is', async () => {
      const held = await start(world.journal, newRun());
      const expired = await start(world.journal, newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      const given = { owner: 'b', leaseMs: 1_000 };
      expect(await world.journal.claimRun(held.runId, given)).toBeUndefined();
      expect(await world.journal.claimRun(expired.runId, given)).toMatchObject({ owner: 'b', epoch: 2 });
    });

    test('its owner can take a run again', async () => {
      const held = await start(world.journal, newRun());
      const again = await world.journal.claimRun(held.runId, { owner: 'a', leaseMs: 1_000 });
      expect(again).toMatchObject({ owner: 'a', epoch: 2, startedAt: held.startedAt });
    });

    test('a waiting run is to be had once it is due', async () => {
      const now = await world.journal.now();
      const [due, notDue] = [await createWaiting(world.journal, now), await createWaiting(world.journal, now + 60_000)];
      const given = { owner: 'b', leaseMs: 1_000 };
      expect(await world.journal.claimRun(due.runId, given)).toMatchObject({ status: 'running' });
      expect(await world.journal.claimRun(notDue.runId, given)).toBeUndefined();
    });

    test('a run that does not exist is not to be had', async () => {
      expect(await world.journal.claimRun(newRunId(), { owner: 'b', leaseMs: 1_000 })).toBeUndefined();
    });
  });
}

export function describeTakeover(world: World): void {
  describe('takeover', () => {
    test('takes what others hold, and queued and due runs', async () => {
      const now = await world.journal.now();
      const held = await start(world.journal, newRun());
      const queued = await start(world.journal, newRun(QUEUED));
      const due = await createWaiting(world.journal, now);
      const taken = await claim(world.journal, { takeover: true });
      expect(ids(taken).sort()).toStrictEqual(ids([held, queued, due]).sort());
      expect(taken.find((run) => run.runId === held.runId)).toMatchObject({ owner: 'b', epoch: 2 });
      expect(await write(world.journal, held, 1)).toStrictEqual({ outcome: 'fenced' });
    });

    test('repeated until nothing is left, it takes every run once', async () => {
      const runs = await Promise.all(Array.from({ length: 25 }, () => start(world.journal, newRun())));
      const taken: RunRow[] = [];
      for (let round = 0; round < 4; round++)
        taken.push(...(await claim(world.journal, { takeover: true, limit: 10 })));
      expect(ids(taken).sort()).toStrictEqual(ids(runs).sort());
    });

    test('a parked run stays parked, and its wake counts again', async () => {
      const run = await start(world.journal, newRun());
      const wakeAt = (await world.journal.now()) + 20_000;
      await write(world.journal, run, 0, { status: 'waiting', wakeAt });
      expect(await world.journal.nextWake()).toBeUndefined();
      expect(await claim(world.journal, { takeover: true })).toStrictEqual([]);
      expect(await world.journal.nextWake()).toBeGreaterThan(0);
      expect(await world.journal.getRun(run.runId)).toMatchObject({ status: 'waiting', wakeAt });
    });
  });
}
