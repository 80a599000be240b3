import { describe, expect, test } from 'vitest';
import type { Journal } from '../../journal.ts';
import type { RunPatch } from '../../journal/appends.ts';
import type { RunRow } from '../../journal/run.ts';
import { newRunId } from '../../ids.ts';
import { claim, createWaiting, ids, read, start, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeSignals(world: World): void {
  describe('signals', () => {
    test.each(['completed', 'failed', 'cancelled'] as const)(
      'a child that ends as %s wakes its parent',
      async (status) => {
        const parent = await createWaiting(world.journal, null);
        const child = await start(world.journal, newRun({ parentRunId: parent.runId }));
        const before = await world.journal.now();
        await write(world.journal, child, 1, { output: '[1]' });
        expect(await read(world.journal, parent.runId)).toMatchObject({ signals: 0, wakeAt: null });
        await write(world.journal, { ...child, seq: 1 }, 1, { status });
        const woken = await read(world.journal, parent.runId);
        expect(woken).toMatchObject({ status: 'waiting', signals: 1 });
        expect(woken.wakeAt).toBeGreaterThanOrEqual(before);
        expect(woken.wakeAt).toBeLessThanOrEqual(await world.journal.now());
      },
    );

    test('a cancelled child wakes its parent', async () => {
      const parent = await createWaiting(world.journal, null);
      const child = await start(world.journal, newRun({ parentRunId: parent.runId }));
      await world.journal.cancel(child.runId, '["x"]', newRunId);
      expect(await read(world.journal, parent.runId)).toMatchObject({
        signals: 1,
        wakeAt: expect.any(Number) as number,
      });
    });

    test('a parent that does not wait is signalled, and its wake stays', async () => {
      const parents = [await start(world.journal, newRun()), await blocked(world.journal)];
      for (const parent of parents) {
        await endChild(world.journal, parent);
        expect(await world.journal.getRun(parent.runId)).toStrictEqual({ ...parent, signals: 1 });
      }
    });

    test('a final parent stays as it is', async () => {
      const parent = await start(world.journal, newRun());
      const child = await start(world.journal, newRun({ parentRunId: parent.runId }));
      await write(world.journal, parent, 0, { status: 'completed' });
      const ended = await read(world.journal, parent.runId);
      await write(world.journal, child, 0, { status: 'completed' });
      expect(await world.journal.getRun(parent.runId)).toStrictEqual(ended);
    });

    test('a repeat of the end does not signal again', async () => {
      const parent = await start(world.journal, newRun());
      const child = await start(world.journal, newRun({ parentRunId: parent.runId }));
      const entry = newAppend(child, { records: [newRecord(0)], patch: { status: 'completed' } });
      await world.journal.append(entry);
      await world.journal.append(entry);
      expect((await read(world.journal, parent.runId)).signals).toBe(1);
    });

    test('300 children of three parents that end at once all count', async () => {
      const parents = [
        await start(world.journal, newRun()),
        await createWaiting(world.journal, null),
        await start(world.journal, newRun()),
      ];
      const children = await Promise.all(
        Array.from({ length: 300 }, (_, n) =>
          start(world.journal, newRun({ parentRunId: parents[n % 3]?.runId ?? '' })),
        ),
      );
      // One of the parents appends all the while: its rows and theirs share commits.
      const busy = Array.from({ length: 20 }, (_, seq) => write(world.journal, { ...(parents[0] as RunRow), seq }, 1));
      const ended = children.map((child) => write(world.journal, child, 1, { status: 'completed' }));
      const results = await Promise.all([...ended, ...busy]);
      expect(new Set(results.map((result) => result.outcome))).toStrictEqual(new Set(['appended']));
      for (const parent of parents) expect((await read(world.journal, parent.runId)).signals).toBe(100);
    });

    test("two journals that end each other's children while they append to the parents signal every parent", async () => {
      const journals = [world.journal, await world.open()] as const;
      const families = await Promise.all(
        Array.from({ length: 40 }, async () => {
          const parent = await start(world.journal, newRun());
          const children = [1, 2].map(() => start(world.journal, newRun({ parentRunId: parent.runId })));
          return { parent, children: await Promise.all(children) };
        }),
      );
      const sent = families.flatMap(({ parent, children }, index) => {
        const [mine, other] = index % 2 ? journals : journals.toReversed();
        if (!mine || !other) return [];
        const ends = children.map((child) => write(other, child, 1, { status: 'completed' }));
        return [...[0, 1, 2].map((seq) => write(mine, { ...parent, seq }, 1)), ...ends];
      });
      const results = await Promise.all(sent);
      expect(new Set(results.map((result) => result.outcome))).toStrictEqual(new Set(['appended']));
      for (const { parent } of families) expect((await read(world.journal, parent.runId)).signals).toBe(2);
    });

    test('a tree whose runs end all at once, from the bottom to the top, signals each parent that is left', async () => {
      const runs = [await start(world.journal, newRun())];
      for (let n = 0; n < 6; n++) {
        const parentRunId = runs[n]?.runId ?? '';
        runs.push(await start(world.journal, newRun({ parentRunId })));
      }
      const ends = runs
        .slice(1)
        .toReversed()
        .map((run) => write(world.journal, run, 1, { status: 'completed' }));
      const results = await Promise.all(ends);
      expect(new Set(results.map((result) => result.outcome))).toStrictEqual(new Set(['appended']));
      expect((await read(world.journal, runs[0]?.runId ?? '')).signals).toBe(1);
      for (const run of runs.slice(1)) expect((await read(world.journal, run.runId)).status).toBe('completed');
    });

    test('a parent that goes to sleep as its child ends does not miss it', async () => {
      for (let n = 0; n < 20; n++) {
        const parent = await start(world.journal, newRun());
        const child = await start(world.journal, newRun({ parentRunId: parent.runId }));
        const sleep = newAppend(parent, {
          patch: { status: 'waiting', wakeAt: null, release: true },
          signals: 0,
        });
        const end = write(world.journal, child, 1, { status: 'completed' });
        await Promise.all(n % 2 ? [end, world.journal.append(sleep)] : [world.journal.append(sleep), end]);
        expect(ids(await claim(world.journal))).toStrictEqual([parent.runId]);
      }
    });

    test('an append that has seen fewer signals than there are sets its wake to now', async () => {
      const parent = await start(world.journal, newRun());
      await endChild(world.journal, parent);
      const later = (await world.journal.now()) + 60_000;
      for (const [signals, wakeAt] of [
        [0, null],
        [0, later],
      ] as const) {
        const before = await world.journal.now();
        await world.journal.append(newAppend(parent, { patch: { wakeAt }, signals }));
        const { wakeAt: stored } = await read(world.journal, parent.runId);
        expect(stored).toBeGreaterThanOrEqual(before);
        expect(stored).toBeLessThan(later);
      }
    });

    test('an append that has seen them all, or does not say, sets the wake it names', async () => {
      const parent = await start(world.journal, newRun());
      await endChild(world.journal, parent);
      const later = (await world.journal.now()) + 60_000;
      const set = async (patch: RunPatch, signals?: number): Promise<number | null> => {
        await world.journal.append(newAppend(parent, { patch, ...(signals === undefined ? {} : { signals }) }));
        return (await read(world.journal, parent.runId)).wakeAt;
      };
      expect(await set({ wakeAt: later }, 1)).toBe(later);
      expect(await set({ wakeAt: null })).toBeNull();
      expect(await set({ output: '[1]' }, 0)).toBeNull();
    });
  });
}

// --- internal ---

async function blocked(journal: Journal): Promise<RunRow> {
  const run = await start(journal, newRun());
  await write(journal, run, 0, { status: 'blocked', release: true });
  return read(journal, run.runId);
}

async function endChild(journal: Journal, parent: RunRow): Promise<void> {
  const child = await start(journal, newRun({ parentRunId: parent.runId }));
  await write(journal, child, 0, { status: 'completed' });
}
