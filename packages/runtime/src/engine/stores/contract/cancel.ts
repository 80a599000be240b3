import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import { readCancel } from '../../journal/cancel.ts';
import type { Journal } from '../../journal.ts';
import type { EndedRun } from '../../journal/ends.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { claim, createWaiting, ids, listEvents, listHooks, read, start, until, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeCancel(world: World): void {
  describe('cancel', () => {
    test('ends a run whatever its owner, which is answered `final`', async () => {
      const run = await start(world.journal, newRun());
      expect(await cancel(world.journal, run)).toStrictEqual({
        outcome: 'cancelled',
        cancelled: [run.runId],
        cleaning: [],
        promoted: [],
      });
      const ended = await read(world.journal, run.runId);
      expect(ended).toStrictEqual({
        ...run,
        status: 'cancelled',
        error: '["stop"]',
        epoch: 2,
        owner: null,
        leaseUntil: null,
        endedAt: expect.any(Number) as number,
      });
      expect(await write(world.journal, run, 1)).toStrictEqual({ outcome: 'final', status: 'cancelled' });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(ended);
    });

    test('ends queued, waiting and blocked runs, and they are not taken any more', async () => {
      const blocked = await start(world.journal, newRun());
      await write(world.journal, blocked, 0, { status: 'blocked', release: true });
      const runs = [
        await start(world.journal, newRun({ claim: null })),
        await createWaiting(world.journal, await world.journal.now()),
        blocked,
      ];
      for (const run of runs) expect(await cancel(world.journal, run)).toMatchObject({ outcome: 'cancelled' });
      expect(await claim(world.journal)).toStrictEqual([]);
      expect(await world.journal.nextWake()).toBeUndefined();
    });

    test.each(['completed', 'failed', 'cancelled'] as const)('a run that is %s stays so', async (status) => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 0, { status });
      const ended = await read(world.journal, run.runId);
      expect(await cancel(world.journal, run)).toStrictEqual({ outcome: 'final', status });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(ended);
    });

    test('a run that does not exist is undefined', async () => {
      expect(await world.journal.cancel(newRunId(), '["stop"]', newRunId)).toBeUndefined();
    });

    test('reaches every unfinished run below, however deep and behind final ones, and no other', async () => {
      const top = await start(world.journal, newRun());
      const tree: RunRow[] = [top];
      for (let depth = 1; depth <= 30; depth++) {
        const parentRunId = tree[tree.length - 1]?.runId ?? '';
        tree.push(await start(world.journal, newRun({ parentRunId })));
        tree.splice(-1, 0, await start(world.journal, newRun({ parentRunId })));
      }
      const final = tree[12] as RunRow;
      await write(world.journal, final, 0, { status: 'completed' });
      const [above, beside] = [await start(world.journal, newRun()), await start(world.journal, newRun())];
      const result = await cancel(world.journal, top);
      if (result?.outcome !== 'cancelled') throw new Error('The run was not cancelled.');
      const expected = tree.filter((run) => run !== final).map((run) => run.runId);
      expect(result.cancelled.toSorted()).toStrictEqual(expected.toSorted());
      for (const run of tree)
        expect((await read(world.journal, run.runId)).status).toBe(run === final ? 'completed' : 'cancelled');
      for (const run of [above, beside]) expect(await world.journal.getRun(run.runId)).toStrictEqual(run);
    });

    test('closes the hooks of all it ends', async () => {
      const [top, child] = await createFamily(world.journal);
      const hook = { call: 0, kind: 'hook', many: true, detail: null, since: 0 } as const;
      await world.journal.append(newAppend(top, { hooks: [{ ...hook, token: 't' }] }));
      await world.journal.append(newAppend(child, { hooks: [{ ...hook, token: 'c' }] }));
      await cancel(world.journal, top);
      for (const token of ['t', 'c']) {
        expect(await world.journal.hooks.find(token)).toMatchObject({ isOpen: false });
        expect(await world.journal.hooks.resume(token, '[1]')).toMatchObject({ outcome: 'closed' });
      }
    });

    test('gives locks to those that wait for them, but not to starts below what it ends', async () => {
      const top = await start(world.journal, serial('', 'a'));
      const child = await start(world.journal, serial('', 'b', { parentRunId: top.runId }));
      await world.journal.create(serial('t1', 'a', { parentRunId: child.runId }));
      await world.journal.create(serial('t2', 'a'));
      await world.journal.create(serial('t3', 'b'));
      await world.journal.create(serial('t4', 'b'));
      const result = await cancel(world.journal, top);
      if (result?.outcome !== 'cancelled') throw new Error('The run was not cancelled.');
      expect(result.promoted.map((run) => run.triggerId).toSorted()).toStrictEqual(['t2', 't3']);
      for (const run of result.promoted) {
        expect(run).toMatchObject({ status: 'queued', owner: null });
        expect(await world.journal.getRun(run.runId)).toStrictEqual(run);
      }
      expect(await world.journal.queue.list({}, { limit: 9 })).toMatchObject([{ triggerId: 't4' }]);
      expect(await world.journal.queue.find('t1')).toBeUndefined();
    });

    test('leaves a run that has begun its time to clean up, with what it was cancelled with', async () => {
      const [top, child] = await createFamily(world.journal);
      const parked = await createWaiting(world.journal, null, { parentRunId: top.runId });
      const queued = await start(world.journal, newRun({ claim: null, parentRunId: top.runId }));
      await world.journal.pause(child.runId);
      const befores = await Promise.all(ids([top, child, parked]).map((id) => read(world.journal, id)));
      const graceOf = () => 60_000;
      const result = await world.journal.cancel(top.runId, '["stop"]', newRunId, { graceOf });
      expect(result).toMatchObject({ outcome: 'cancelled', cancelled: [queued.runId] });
      const cleaning = ids([top, child, parked]).toSorted();
      expect(result?.outcome === 'cancelled' && result.cleaning.toSorted()).toStrictEqual(cleaning);
      for (const before of befores) {
        const row = await read(world.journal, before.runId);
        const { at, ...asked } = readCancel(row) ?? { at: Number.NaN };
        expect(asked).toStrictEqual({ error: '["stop"]', status: 'cancelled' });
        expect(row).toMatchObject({ status: before.status, epoch: before.epoch, error: null, pausedAt: null });
        expect([row.deadline, row.signals]).toStrictEqual([at + 60_000, before.signals + 1]);
      }
      // One that was parked is due.
      expect(ids(await claim(world.journal))).toStrictEqual([parked.runId]);
      expect(await world.journal.listOverdue(9)).toStrictEqual([]);
      // Again: nothing waits for any of them, and what it was cancelled with first stays.
      const again = await world.journal.cancel(top.runId, '["other"]', newRunId, { graceOf });
      expect(again).toMatchObject({ outcome: 'cancelled', cleaning: [] });
      for (const id of cleaning)
        expect(await read(world.journal, id)).toMatchObject({ status: 'cancelled', error: '["stop"]' });
    });

    test('ends those whose time is over, and not yet those below that clean up longer', async () => {
      const [top, child] = await createFamily(world.journal);
      const graceOf = () => 1;
      await world.journal.cancel(child.runId, '["c"]', newRunId, { graceOf: () => 60_000 });
      await world.journal.cancel(top.runId, '["t"]', newRunId, { graceOf, isOver: false });
      await until(async () => (await world.journal.listOverdue(9)).length === 1);
      expect(await world.journal.nextWake()).toBe(0);
      const result = await world.journal.cancel(top.runId, '["t"]', newRunId, { graceOf, isOver: true });
      expect(result).toMatchObject({ cancelled: [top.runId], cleaning: [] });
      expect(await read(world.journal, child.runId)).toMatchObject({ status: 'running', endedAt: null });
      expect(await world.journal.listOverdue(9)).toStrictEqual([]);
    });

    test('of what is below alone leaves the run its time, and those that clean up already', async () => {
      const [top, cleaning] = await createFamily(world.journal);
      const graceOf = (): number => 60_000;
      await world.journal.cancel(top.runId, '["t"]', newRunId, { graceOf });
      const below = { parentRunId: top.runId };
      const [late, kept] = await Promise.all([
        start(world.journal, newRun(below)),
        start(world.journal, newRun({ ...below, closePolicy: 'abandon' })),
      ]);
      const queued = await start(world.journal, newRun({ claim: null, parentRunId: late.runId }));
      const before = await read(world.journal, top.runId);
      const result = await world.journal.cancel(top.runId, '["t"]', newRunId, { graceOf, isBelow: true });
      expect(result).toMatchObject({ outcome: 'cancelled', cancelled: [queued.runId], cleaning: [late.runId] });
      expect(await read(world.journal, top.runId)).toStrictEqual(before);
      expect(await read(world.journal, cleaning.runId)).toMatchObject({ endedAt: null });
      expect(await read(world.journal, kept.runId)).toMatchObject({ cancel: null, endedAt: null });
    });

    test('a cancel and the end of the run at once: one of them wins', async () => {
      const other = await world.open();
      for (let n = 0; n < 10; n++) {
        const [top, child] = await createFamily(world.journal);
        const [cancelled, ended] = await Promise.all([
          cancel(other, top),
          write(world.journal, child, 1, { status: 'completed' }),
        ]);
        expect(cancelled?.outcome).toBe('cancelled');
        const { status } = await read(world.journal, child.runId);
        expect([ended.outcome, status]).toBeOneOf([
          ['appended', 'completed'],
          ['final', 'cancelled'],
        ]);
      }
    });
  });
}

export function describeKeeping(world: World): void {
  describe('deleteRun', () => {
    test('removes a final run with all that is its own', async () => {
      const run = await start(world.journal, newRun({ idempotency: { key: 'k', digest: 'd' } }));
      const neighbour = await start(world.journal, newRun());
      const hook = { call: 0, kind: 'hook', many: true, detail: null, since: 0 } as const;
      for (const each of [run, neighbour]) {
        const hooks = [{ ...hook, token: `t${each.runId}` }];
        await world.journal.append(newAppend(each, { records: [newRecord(0)], hooks }));
        await world.journal.chunks.write(each.runId, 1, [{ namespace: 'n', payload: 'p' }]);
      }
      await world.journal.hooks.resume(`t${run.runId}`, '[1]');
      expect(await world.journal.deleteRun(run.runId)).toBe(false);
      await write(world.journal, { ...run, seq: 1 }, 0, { status: 'completed' });
      expect(await world.journal.deleteRun(run.runId)).toBe(true);
      expect(await world.journal.deleteRun(run.runId)).toBe(false);
      expect(await world.journal.getRun(run.runId)).toBeUndefined();
      expect(await world.journal.getRecords(run.runId)).toStrictEqual([]);
      expect(await listHooks(world.journal, run.runId)).toStrictEqual([]);
      expect(await world.journal.hooks.find(`t${run.runId}`)).toBeUndefined();
      expect(await listEvents(world.journal, run.runId)).toStrictEqual({ signals: 0, events: [] });
      // Made again under the same id, it has nothing of the old one.
      const again = await start(world.journal, newRun({ runId: run.runId }));
      const page = { after: 0, limit: 9 };
      expect(await world.journal.chunks.read(again.runId, 'n', page)).toStrictEqual([]);
      expect((await listEvents(world.journal, again.runId)).events).toStrictEqual([]);
      expect(await world.journal.create(newRun({ idempotency: { key: 'k', digest: 'd' } }))).toMatchObject({
        outcome: 'created',
      });
      expect(await world.journal.getRecords(neighbour.runId)).toHaveLength(1);
      expect(await world.journal.hooks.find(`t${neighbour.runId}`)).toBeDefined();
      expect(await world.journal.chunks.read(neighbour.runId, 'n', page)).toHaveLength(1);
    });
  });

  describe('deleteRuns', () => {
    test('removes those that are final, with all that is their own, and names them', async () => {
      const runs = [];
      for (let n = 0; n < 4; n++) runs.push(await start(world.journal, newRun()));
      const [first, open, last] = runs as [RunRow, RunRow, RunRow];
      for (const run of runs) await write(world.journal, run, 2);
      for (const run of [first, last]) await write(world.journal, { ...run, seq: 2 }, 0, { status: 'failed' });
      const gone = await world.journal.deleteRuns(['none', ...ids([last, open, first])]);
      expect([...gone].sort()).toStrictEqual(ids([first, last]).sort());
      expect(await world.journal.getRecords(first.runId)).toStrictEqual([]);
      expect(await world.journal.getRecords(open.runId)).toHaveLength(2);
      expect(ids(await world.journal.listRuns({}, { limit: 9 })).sort()).toStrictEqual(
        ids([open, runs[3] as RunRow]).sort(),
      );
      expect(await world.journal.deleteRuns([])).toStrictEqual([]);
    });
  });

  describe('listEnded', () => {
    test('pages the runs that ended before a time by their end, whenever they began', async () => {
      const runs = [];
      for (let n = 0; n < 6; n++) runs.push(await start(world.journal, newRun()));
      // The newest ends first; one is cancelled, one does not end.
      for (const run of runs.slice(1, 5).reverse()) {
        await write(world.journal, run, 1, { status: 'completed' });
        const endedAt = (await read(world.journal, run.runId)).endedAt ?? 0;
        await until(async () => (await world.journal.now()) > endedAt);
      }
      await world.journal.cancel((runs[5] as RunRow).runId, '[1]', newRunId);
      const ended = (await Promise.all(ids(runs).map((id) => read(world.journal, id)))).filter(
        ({ endedAt }) => endedAt !== null,
      );
      const expected = [...ended]
        .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
        .map(({ runId, endedAt, seq }) => ({ runId, endedAt, seq }));
      const all = (await world.journal.now()) + 1;
      const page = await world.journal.listEnded(all, { limit: 3 });
      expect(page).toStrictEqual(expected.slice(0, 3));
      const after = page[2] as EndedRun;
      expect(await world.journal.listEnded(all, { limit: 3, after })).toStrictEqual(expected.slice(3));
      const before = expected[2]?.endedAt ?? 0;
      expect(await world.journal.listEnded(before, { limit: 9 })).toStrictEqual(expected.slice(0, 2));
    });
  });

  describe('unblock', () => {
    test('sets a blocked run free, on other code', async () => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 1, { status: 'blocked', waitingFor: '{}', release: true });
      expect(await world.journal.unblock(run.runId, 'c1')).toBe(true);
      expect(await world.journal.unblock(run.runId, 'c2')).toBe(false);
      expect(await read(world.journal, run.runId)).toMatchObject({ codeHash: 'c1', waitingFor: null, seq: 1 });
      const [taken] = await claim(world.journal);
      expect(taken).toMatchObject({ runId: run.runId, codeHash: 'c1', epoch: 2, startedAt: run.startedAt });
    });

    test('changes no run that is not blocked', async () => {
      const run = await start(world.journal, newRun());
      expect(await world.journal.unblock(run.runId, 'c1')).toBe(false);
      expect(await world.journal.unblock('nothing', 'c1')).toBe(false);
      expect(await world.journal.getRun(run.runId)).toStrictEqual(run);
    });
  });

  describe('listHeld', () => {
    test('names what the owner holds, with the stored epoch and signals', async () => {
      const [mine, child] = await createFamily(world.journal);
      await start(world.journal, newRun({ claim: { owner: 'b', leaseMs: 1_000 } }));
      await start(world.journal, newRun({ claim: null }));
      const again = await world.journal.claimRun(mine.runId, { owner: 'a', leaseMs: 1_000 });
      await write(world.journal, child, 0, { status: 'completed' });
      expect(again?.epoch).toBe(2);
      expect(await world.journal.listHeld('a')).toStrictEqual([
        { runId: mine.runId, epoch: 2, signals: 1, pausedAt: null, cancel: null },
      ]);
      expect(await world.journal.listHeld('c')).toStrictEqual([]);
    });
  });
}

// --- internal ---

function cancel(journal: Journal, run: RunRow): ReturnType<Journal['cancel']> {
  return journal.cancel(run.runId, '["stop"]', newRunId);
}

async function createFamily(journal: Journal): Promise<[parent: RunRow, child: RunRow]> {
  const parent = await start(journal, newRun());
  return [parent, await start(journal, newRun({ parentRunId: parent.runId }))];
}

function serial(triggerId: string, key: string, fields: Partial<NewRun> = {}): NewRun {
  return newRun({ claim: null, serial: { key, triggerId, whenTaken: 'queue' }, ...fields });
}
