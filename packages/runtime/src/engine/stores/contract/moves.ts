import { describe, expect, test } from 'vitest';
import type { RunPatch } from '../../journal/appends.ts';
import type { RunMove } from '../../journal/moves.ts';
import type { RunRow } from '../../journal/run.ts';
import { newRun } from './records.ts';
import { createWaiting, read, start, write } from './world.ts';
import type { World } from './world.ts';

export function describeMoves(world: World): void {
  describe('a run that is given other code', () => {
    const moves = () => world.journal.moves;
    const moveOf = ({ runId, epoch, seq, codeHash: from }: RunRow, more: Partial<RunMove> = {}): RunMove => ({
      runId,
      epoch,
      seq,
      from,
      to: 'new',
      by: 'b',
      frees: false,
      ...more,
    });
    const park = async (codeHash: string | null = 'old') => {
      const { runId } = await createWaiting(world.journal, 5_000, { codeHash });
      return read(world.journal, runId);
    };

    test('waits on as it did, and says what it had', async () => {
      const run = await park();
      const before = await world.journal.now();
      expect(await moves().move(moveOf(run))).toBe(true);
      const moved = await read(world.journal, run.runId);
      expect(moved).toEqual({ ...run, codeHash: 'new', movedFrom: 'old', movedAt: expect.any(Number) });
      expect(moved.movedAt).toBeGreaterThanOrEqual(before);
      expect(await moves().move(moveOf(run))).toBe(false);
      expect(await read(world.journal, run.runId)).toEqual(moved);
    });

    test('may have had code that is not known', async () => {
      const run = await park(null);
      expect(await moves().move(moveOf(run, { from: 'old' }))).toBe(false);
      expect(await moves().move(moveOf(run))).toBe(true);
      expect(await read(world.journal, run.runId)).toMatchObject({ codeHash: 'new', movedFrom: null });
    });

    test('is taken up at once where it waits for nothing else', async () => {
      const run = await start(world.journal, newRun({ codeHash: 'old' }));
      await write(world.journal, run, 1, { status: 'blocked', waitingFor: '{}', release: true });
      const blocked = await read(world.journal, run.runId);
      expect(await moves().move(moveOf(blocked, { frees: true }))).toBe(true);
      expect(await read(world.journal, run.runId)).toMatchObject({
        status: 'queued',
        waitingFor: null,
        codeHash: 'new',
      });
    });

    test('is as it was judged: no other code, no more records, no later epoch, in no process, not cancelled, not final', async () => {
      const run = await park();
      expect(await moves().move(moveOf(run, { from: 'other' }))).toBe(false);
      expect(await moves().move(moveOf(run, { seq: run.seq + 1 }))).toBe(false);
      expect(await moves().move(moveOf(run, { epoch: run.epoch + 1 }))).toBe(false);
      expect(await moves().move(moveOf(run, { runId: 'nothing' }))).toBe(false);
      const held = await start(world.journal, newRun({ codeHash: 'old' }));
      expect(await moves().move(moveOf(held))).toBe(false);
      await world.journal.cancel(run.runId, '"x"', () => 'next', { graceOf: () => 60_000 });
      expect(await moves().move(moveOf(await read(world.journal, run.runId)))).toBe(false);
      await write(world.journal, held, 0, { status: 'completed' });
      expect(await moves().move(moveOf(await read(world.journal, held.runId)))).toBe(false);
      expect(await read(world.journal, held.runId)).toMatchObject({ codeHash: 'old', movedFrom: null, movedAt: null });
    });

    test('may have been in a process that died, and what that one still sends is refused', async () => {
      const leave = async (claim: { owner: string; leaseMs: number }, patch: RunPatch = {}) => {
        const run = await start(world.journal, newRun({ codeHash: 'old', claim }));
        await write(world.journal, run, 0, { status: 'waiting', wakeAt: null, waitingFor: '{}', ...patch });
        return read(world.journal, run.runId);
      };
      const died = { owner: 'a', leaseMs: 0 };
      const run = await leave(died);
      const given = await moves().move(moveOf(run));
      const moved = await read(world.journal, run.runId);
      expect([given, moved]).toEqual([true, { ...run, ...MOVED, epoch: run.epoch + 1, owner: null, leaseUntil: null }]);
      expect(await write(world.journal, run, 1)).not.toMatchObject({ outcome: 'appended' });
      const resting = await leave(died);
      await world.journal.pause(resting.runId);
      expect(await moves().move(moveOf(await read(world.journal, resting.runId)))).toBe(true);
      // Its process may only stand still, with a step at work.
      const paused = await start(world.journal, newRun({ codeHash: 'old', claim: died }));
      await world.journal.pause(paused.runId);
      expect(await moves().move(moveOf(await read(world.journal, paused.runId)))).toBe(false);
      // It still has it, and has not come to renew; it may be at work; it is to be taken up as it is.
      expect(await moves().move(moveOf(await leave({ owner: 'b', leaseMs: 0 })))).toBe(false);
      expect(await moves().move(moveOf(await leave({ owner: 'a', leaseMs: 60_000 })))).toBe(false);
      expect(await moves().move(moveOf(await start(world.journal, newRun({ codeHash: 'old', claim: died }))))).toBe(
        false,
      );
    });

    test('is listed by its id while it has not ended, unless its code is one that is served', async () => {
      const [first, second, third] = [await park(), await park('served'), await park(null)];
      const held = await start(world.journal, newRun({ codeHash: 'old' }));
      const paused = await start(world.journal, newRun({ codeHash: 'old' }));
      await world.journal.pause(paused.runId);
      const ended = await start(world.journal, newRun({ codeHash: 'old' }));
      await write(world.journal, ended, 0, { status: 'completed' });
      const all = [first, third, held, paused].map(({ runId }) => runId).toSorted();
      expect(await moves().list(['served'], { limit: 10 })).toEqual(all);
      expect(await moves().list([], { limit: 10 })).toEqual([...all, second.runId].toSorted());
      expect(await moves().list(['served'], { limit: 2, after: String(all[0]) })).toEqual(all.slice(1, 3));
    });

    test('is set free where its code does not load, and not while it waits for anything else', async () => {
      const run = await park();
      expect(await world.journal.unblock(run.runId, 'new')).toBe(false);
      const waiting = await start(world.journal, newRun({ codeHash: 'old' }));
      const waitingFor = '{"type":"code","message":"x","tries":2}';
      await write(world.journal, waiting, 0, { status: 'waiting', wakeAt: 5_000, waitingFor, release: true });
      expect(await world.journal.unblock(waiting.runId, 'new')).toBe(true);
      const freed = { status: 'queued', wakeAt: null, waitingFor: null, codeHash: 'new', movedFrom: 'old' };
      expect(await read(world.journal, waiting.runId)).toMatchObject(freed);
    });
  });
}

// --- internal ---

const MOVED = { codeHash: 'new', movedFrom: 'old', movedAt: expect.any(Number) as number };
