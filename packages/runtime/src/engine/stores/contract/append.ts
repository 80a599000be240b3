import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import type { RunPatch } from '../../journal/appends.ts';
import { APPENDED, claim, read, start, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeAppend(world: World): void {
  describe('append', () => {
    test('one that cannot be written rejects its own caller only', async () => {
      const [run, other] = [await start(world.journal, newRun()), await start(world.journal, newRun())];
      const bad = newAppend(other, { records: [newRecord(0, { attempt: null as unknown as number })] });
      const good = [newAppend(run, { records: [newRecord(0)] }), bad].map((entry) => world.journal.append(entry));
      const [first, second] = await Promise.allSettled([...good, world.journal.create(newRun())]);
      expect([first?.status, second?.status]).toEqual(['fulfilled', 'rejected']);
      expect(await world.journal.getRecords(run.runId)).toHaveLength(1);
      expect(await world.journal.getRecords(other.runId)).toEqual([]);
    });

    test('an append takes the next positions and keeps its records', async () => {
      const run = await start(world.journal, newRun());
      const tokens = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, totalTokens: 10 };
      const records = [
        newRecord(0, { kind: 'model', stepId: 'model', tokens, input: null }),
        newRecord(1, { call: 0, event: 'retry', attempt: 2, output: null, error: '["no"]' }),
      ];
      const more = [newRecord(2, { kind: 'sleep', stepId: 'sleep', event: 'set', input: null, output: null })];
      const before = await world.journal.now();
      const result = await world.journal.append(newAppend(run, { records }));
      expect(result).toStrictEqual(APPENDED);
      expect((result as { at: number }).at).toBeGreaterThanOrEqual(before);
      expect(await world.journal.append(newAppend({ ...run, seq: 2 }, { records: more }))).toStrictEqual(APPENDED);
      expect(await world.journal.getRecords(run.runId)).toStrictEqual([...records, ...more]);
      expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, seq: 3 });
    });

    test('a lower epoch is fenced and writes nothing', async () => {
      const old = await start(world.journal, newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      const [taken] = await claim(world.journal);
      expect(await write(world.journal, old, 1, { status: 'completed', output: '[1]' })).toStrictEqual({
        outcome: 'fenced',
      });
      expect(await world.journal.getRun(old.runId)).toStrictEqual(taken);
      expect(await world.journal.getRecords(old.runId)).toStrictEqual([]);
    });

    test('a run that does not exist is fenced', async () => {
      const run = { runId: newRunId(), epoch: 1, seq: 0 };
      expect(await world.journal.append(newAppend(run, { records: [newRecord(0)] }))).toStrictEqual({
        outcome: 'fenced',
      });
      expect(await world.journal.getRecords(run.runId)).toStrictEqual([]);
    });

    test('a position that is taken, or not reached, is a conflict and writes nothing', async () => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 2);
      for (const seq of [0, 1, 3])
        expect(await write(world.journal, { ...run, seq }, 1)).toStrictEqual({ outcome: 'conflict' });
      expect(await world.journal.getRecords(run.runId)).toHaveLength(2);
      expect((await read(world.journal, run.runId)).seq).toBe(2);
    });

    test('a repeat with the same record ids answers appended and writes nothing twice', async () => {
      const run = await start(world.journal, newRun());
      const entry = newAppend(run, { records: [newRecord(0), newRecord(1)], patch: { totalTokens: 5 } });
      await world.journal.append(entry);
      await write(world.journal, { ...run, seq: 2 }, 1, { totalTokens: 7 });
      expect(await world.journal.append(entry)).toStrictEqual(APPENDED);
      expect(await world.journal.getRecords(run.runId)).toHaveLength(3);
      expect(await world.journal.getRun(run.runId)).toMatchObject({ seq: 3, totalTokens: 7 });
    });

    test('a repeat of the append that ended the run answers appended', async () => {
      const run = await start(world.journal, newRun());
      const entry = newAppend(run, { records: [newRecord(0)], patch: { status: 'completed', output: '[1]' } });
      await world.journal.append(entry);
      expect(await world.journal.append(entry)).toStrictEqual(APPENDED);
      expect(await world.journal.getRecords(run.runId)).toHaveLength(1);
    });

    test('a repeat of an end without records answers appended, another end does not', async () => {
      const run = await start(world.journal, newRun());
      const end: RunPatch = { status: 'failed', error: '["x"]' };
      await write(world.journal, run, 0, end);
      expect(await write(world.journal, run, 0, end)).toStrictEqual(APPENDED);
      const refused = { outcome: 'final', status: 'failed' };
      expect(await write(world.journal, run, 0, { ...end, error: '["y"]' })).toStrictEqual(refused);
      expect(await write(world.journal, run, 0, { status: 'cancelled' })).toStrictEqual(refused);
      expect(await world.journal.getRun(run.runId)).toMatchObject(end);
    });

    test('a repeat that differs in one record id is not a repeat', async () => {
      const run = await start(world.journal, newRun());
      const [kept, other] = [newRecord(0), newRecord(1)];
      await world.journal.append(newAppend(run, { records: [kept, other] }));
      const records = [kept, newRecord(1)];
      expect(await world.journal.append(newAppend(run, { records }))).toStrictEqual({ outcome: 'conflict' });
    });

    test.each(['completed', 'failed', 'cancelled'] as const)('%s is final', async (status) => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 1, { status });
      const ended = await read(world.journal, run.runId);
      const refused = await write(world.journal, { ...run, seq: 1 }, 1, { status: 'running', output: '[3]' });
      expect(refused).toStrictEqual({ outcome: 'final', status });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(ended);
      expect(await world.journal.getRecords(run.runId)).toHaveLength(1);
    });

    test('appends to one run sent without waiting land in the order they were sent', async () => {
      const run = await start(world.journal, newRun());
      const sent = Array.from({ length: 20 }, (_, seq) => newRecord(seq));
      const results = await Promise.all(
        sent.map((record) => world.journal.append(newAppend({ ...run, seq: record.seq }, { records: [record] }))),
      );
      expect(results).toStrictEqual(sent.map(() => APPENDED));
      expect(await world.journal.getRecords(run.runId)).toStrictEqual(sent);
    });

    test('200 appends over 50 runs at once all land', async () => {
      const runs = await Promise.all(Array.from({ length: 50 }, () => start(world.journal, newRun())));
      const sent = [0, 1, 2, 3].flatMap((seq) => runs.map((run) => write(world.journal, { ...run, seq }, 1)));
      expect(await Promise.all(sent)).toStrictEqual(sent.map(() => APPENDED));
      for (const run of runs) {
        const records = await world.journal.getRecords(run.runId);
        expect(records.map((record) => record.seq)).toStrictEqual([0, 1, 2, 3]);
      }
    });

    test('a refused append does not hold back those it shares a commit with', async () => {
      const [mine, lost, over] = await Promise.all([1, 2, 3].map(() => start(world.journal, newRun())));
      if (!mine || !lost || !over) throw new Error('Three runs were created.');
      await write(world.journal, over, 0, { status: 'cancelled' });
      const results = await Promise.all([
        write(world.journal, { ...lost, epoch: 0 }, 1),
        write(world.journal, over, 1),
        write(world.journal, mine, 1),
        write(world.journal, { ...mine, seq: 5 }, 1),
      ]);
      expect(results.map((result) => result.outcome)).toStrictEqual(['fenced', 'final', 'appended', 'conflict']);
    });

    test('of two writers at one position exactly one lands', async () => {
      const other = await world.open();
      const run = await start(world.journal, newRun());
      for (let seq = 0; seq < 20; seq++) {
        const results = await Promise.all([world.journal, other].map((each) => write(each, { ...run, seq }, 1)));
        expect(results.map((result) => result.outcome).sort()).toStrictEqual(['appended', 'conflict']);
      }
      expect(await world.journal.getRecords(run.runId)).toHaveLength(20);
    });
  });
}

export function describePatch(world: World): void {
  describe('patch', () => {
    test('the named columns change, and no other', async () => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 0, { waitingFor: '{"hook":"x"}', wakeAt: 5, inputTokens: 3, totalTokens: 4 });
      await write(world.journal, run, 1, { outputTokens: 1, wakeAt: null });
      expect(await world.journal.getRun(run.runId)).toStrictEqual({
        ...run,
        seq: 1,
        waitingFor: '{"hook":"x"}',
        inputTokens: 3,
        outputTokens: 1,
        totalTokens: 4,
      });
    });

    test('every column of a patch is kept', async () => {
      const run = await start(world.journal, newRun());
      const patch = {
        status: 'waiting',
        wakeAt: 1,
        waitingFor: 'w',
        output: 'o',
        error: 'e',
        attributes: '{"a":1}',
        inputTokens: 2,
        outputTokens: 3,
        cacheReadTokens: 4,
        cacheWriteTokens: 5,
        totalTokens: 6,
      } as const;
      await write(world.journal, run, 0, patch);
      expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, ...patch });
    });

    test('null empties a column, undefined leaves it', async () => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 0, { output: 'o', error: 'e' });
      await write(world.journal, run, 0, { output: null, error: undefined } as RunPatch);
      expect(await world.journal.getRun(run.runId)).toMatchObject({ output: null, error: 'e' });
    });

    test('release gives the run back', async () => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 0, { release: true });
      expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, owner: null, leaseUntil: null });
    });

    test.each(['completed', 'failed', 'cancelled'] as const)(
      '%s sets the end and gives the run back',
      async (status) => {
        const run = await start(world.journal, newRun());
        const result = await write(world.journal, run, 1, { status, output: '[1]' });
        const endedAt = (result as { at: number }).at;
        const released = { owner: null, leaseUntil: null };
        expect(await world.journal.getRun(run.runId)).toStrictEqual({
          ...run,
          seq: 1,
          status,
          output: '[1]',
          endedAt,
          ...released,
        });
      },
    );

    test('patches of different runs in one commit do not mix', async () => {
      const runs = await Promise.all([1, 2, 3, 4].map(() => start(world.journal, newRun())));
      const patches: RunPatch[] = [
        { output: 'x' },
        {},
        { error: 'y', totalTokens: 2 },
        { status: 'waiting', wakeAt: 9 },
      ];
      await Promise.all(runs.map((run, index) => write(world.journal, run, index % 2, patches[index])));
      for (const [index, run] of runs.entries())
        expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, seq: index % 2, ...patches[index] });
    });
  });
}
