import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import type { Journal } from '../../journal.ts';
import type { RunRow } from '../../journal/run.ts';
import { QUEUED, claim, createWaiting, ids, read, start, until, write } from './world.ts';
import type { World } from './world.ts';
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
      const [second] = await claim(world.journal, { owner: 'c' });
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

    test('a run whose lease is over is due for others, and not for the owner that still has it', async () => {
      const run = await start(world.journal, newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      await until(async () => (await world.journal.look('b')).isDue);
      expect(await world.journal.look('a')).toMatchObject({ isDue: false, isHolding: true });
      expect(await claim(world.journal, { owner: 'a' })).toStrictEqual([]);
      expect(ids(await claim(world.journal))).toStrictEqual([run.runId]);
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
    test('takes the one run it names', async () => {
      await start(world.journal, newRun(QUEUED));
      const run = await start(world.journal, newRun(QUEUED));
      const taken = await world.journal.claimRun(run.runId, { owner: 'b', leaseMs: 1_000 });
      expect(taken).toMatchObject({ runId: run.runId, owner: 'b', epoch: 1, status: 'running' });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(taken);
    });

    test('who holds a run is found, while the lease is good', async () => {
      const { journal } = world;
      const held = await start(journal, newRun());
      const free = await start(journal, newRun(QUEUED));
      const expired = await start(journal, newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      await until(async () => (await journal.now()) > (expired.leaseUntil ?? 0));
      const owners = [held, free, expired, { runId: 'nothing' }].map(({ runId }) => journal.findOwner(runId));
      expect(await Promise.all(owners)).toStrictEqual(['a', undefined, undefined, undefined]);
    });

    test('a run another owner holds cannot be claimed; one whose lease expired can', async () => {
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

    test('a waiting run can be claimed once it is due', async () => {
      const now = await world.journal.now();
      const [due, notDue] = [await createWaiting(world.journal, now), await createWaiting(world.journal, now + 60_000)];
      const given = { owner: 'b', leaseMs: 1_000 };
      expect(await world.journal.claimRun(due.runId, given)).toMatchObject({ status: 'running' });
      expect(await world.journal.claimRun(notDue.runId, given)).toBeUndefined();
    });

    test('a run that does not exist cannot be claimed', async () => {
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

export function describeSuspects(world: World): void {
  const lapsed = { claim: { owner: 'a', leaseMs: 0 } };
  const crashes = ({ crashCount, crashSeq }: RunRow) => ({ crashCount, crashSeq });
  const taken = async (run: RunRow, owner: string, leaseMs = 0): Promise<RunRow> => {
    const again = await world.journal.claimRun(run.runId, { owner, leaseMs });
    if (!again) throw new Error('The run cannot be claimed.');
    return again;
  };

  describe('suspects', () => {
    test('a run taken from an owner that did not release it is suspect where it stands', async () => {
      const run = await start(world.journal, newRun(lapsed));
      expect(crashes(run)).toStrictEqual({ crashCount: 0, crashSeq: null });
      await write(world.journal, run, 2);
      const [again] = await claim(world.journal);
      expect(crashes(again as RunRow)).toStrictEqual({ crashCount: 0, crashSeq: 2 });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(again);
    });

    test('a run that was given back, or that its own owner takes again, is not', async () => {
      const released = await start(world.journal, newRun(lapsed));
      await write(world.journal, released, 1, { release: true });
      const kept = await start(world.journal, newRun(lapsed));
      expect(crashes(await taken(released, 'b'))).toStrictEqual({ crashCount: 0, crashSeq: null });
      expect(crashes(await taken(kept, 'a'))).toStrictEqual({ crashCount: 0, crashSeq: null });
    });

    test('an owner that dies with the mark set is counted; one that had not marked the run is not', async () => {
      const run = await start(world.journal, newRun(lapsed));
      expect(await world.journal.mark(run.runId, run.epoch, '{"steps":[]}', true)).toBe(true);
      const first = await taken(run, 'b');
      expect(first).toMatchObject({ crashCount: 0, crashSeq: 0 });
      expect(await world.journal.mark(run.runId, first.epoch, '{"steps":["a"]}', true)).toBe(true);
      const second = await taken(run, 'c');
      expect(second).toMatchObject({ crashCount: 1, crashSeq: 0, mark: '{"steps":["a"]}', markEpoch: first.epoch });
      expect(await taken(run, 'd')).toMatchObject({ crashCount: 1, crashSeq: 0 });
      expect(await world.journal.mark(run.runId, second.epoch, '{}', true)).toBe(false);
    });

    test('a death with a mark that does not count is not counted', async () => {
      const run = await taken(await start(world.journal, newRun(lapsed)), 'b');
      expect(await world.journal.mark(run.runId, run.epoch, '{"seq":0,"steps":["a"]}', false)).toBe(true);
      const again = await taken(run, 'c');
      expect(again).toMatchObject({ crashCount: 0, crashSeq: 0, mark: '{"seq":0,"steps":["a"]}', markEpoch: null });
    });

    test('a run can be taken from an owner that hands it over, which is no crash', async () => {
      const run = await start(world.journal, newRun());
      const others = { owner: 'b', leaseMs: 1_000 };
      expect(await world.journal.claimRun(run.runId, others)).toBeUndefined();
      expect(await world.journal.claimRun(run.runId, { ...others, from: { owner: 'c', died: false } })).toBeUndefined();
      const given = await world.journal.claimRun(run.runId, { ...others, from: { owner: 'a', died: false } });
      expect(given).toMatchObject({ owner: 'b', epoch: 2, crashCount: 0, crashSeq: null });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(given);
    });

    test('a run can be taken at once from an owner that has died, which is a crash', async () => {
      const run = await start(world.journal, newRun());
      const first = await world.journal.claimRun(run.runId, {
        owner: 'b',
        leaseMs: 1_000,
        from: { owner: 'a', died: true },
      });
      expect(first).toMatchObject({ owner: 'b', epoch: 2, crashCount: 0, crashSeq: 0 });
      await world.journal.mark(run.runId, 2, '{}', true);
      const from = { owner: 'b', died: true };
      const second = await world.journal.claimRun(run.runId, { owner: 'a', leaseMs: 1_000, from });
      expect(second).toMatchObject({ owner: 'a', epoch: 3, crashCount: 1, crashSeq: 0 });
    });

    test('a takeover at boot counts like an expired lease', async () => {
      const run = await start(world.journal, newRun());
      await claim(world.journal, { takeover: true });
      await world.journal.mark(run.runId, 2, '{"steps":["a"]}', true);
      const [again] = await claim(world.journal, { owner: 'c', takeover: true });
      expect(again).toMatchObject({ crashCount: 1, crashSeq: 0 });
    });

    test('a count survives a release, and begins anew at the next position', async () => {
      let run = await taken(await start(world.journal, newRun(lapsed)), 'b');
      await world.journal.mark(run.runId, run.epoch, '{}', true);
      run = await taken(run, 'c');
      await write(world.journal, run, 0, { release: true });
      run = await taken(run, 'd');
      expect(crashes(run)).toStrictEqual({ crashCount: 1, crashSeq: 0 });
      await world.journal.mark(run.runId, run.epoch, '{}', true);
      await write(world.journal, run, 1);
      expect(crashes(await taken(run, 'e'))).toStrictEqual({ crashCount: 0, crashSeq: 1 });
    });

    test('a final run takes no mark', async () => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 0, { status: 'completed' });
      expect(await world.journal.mark(run.runId, run.epoch, '{}', true)).toBe(false);
      expect(await world.journal.mark(newRunId(), 1, '{}', true)).toBe(false);
    });
  });
}
