import { describe, expect, test } from 'vitest';
import type { Journal } from '../../journal.ts';
import type { Chunk, NewChunk } from '../../journal/chunks.ts';
import { APPENDED, claim, read, start, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeStreams(world: World): void {
  describe('chunks', () => {
    test('are numbered from 1 over all namespaces', async () => {
      const run = await start(world.journal, newRun());
      const { chunks } = world.journal;
      expect(await chunks.write(run.runId, 1, [chunk('a', '1'), chunk('b', '2')])).toBe(2);
      expect(await chunks.write(run.runId, 1, [chunk('a', '3'), chunk('a', '4'), chunk('b', '5')])).toBe(5);
      expect(await chunks.write(run.runId, 1, [chunk('a', '6')])).toBe(6);
      expect(await readAll(world.journal, run.runId, 'a')).toStrictEqual(
        [1, 3, 4, 6].map((n) => ({ n, namespace: 'a', payload: String(n) })),
      );
      expect(await chunks.read(run.runId, 'b', { after: 2, limit: 9 })).toMatchObject([{ n: 5 }]);
      expect(await chunks.read(run.runId, 'a', { after: 1, limit: 2 })).toMatchObject([{ n: 3 }, { n: 4 }]);
      expect(await readAll(world.journal, run.runId, 'c')).toStrictEqual([]);
    });

    test('are listed by stream, and a frame is found from both ends', async () => {
      const run = await start(world.journal, newRun());
      const { chunks } = world.journal;
      await chunks.write(run.runId, 1, [chunk('b', '[1]'), chunk('a', '[2]'), chunk('b', '[3]'), chunk('b', '0')]);
      expect(await chunks.list(run.runId, 100)).toStrictEqual([
        { namespace: 'b', count: 2, last: 4, isClosed: true },
        { namespace: 'a', count: 1, last: 2, isClosed: false },
      ]);
      expect(await chunks.list(run.runId, 1)).toMatchObject([{ namespace: 'b', count: 0 }]);
      expect(await chunks.list('nothing', 100)).toStrictEqual([]);
      const find = (index: number) => chunks.findFrame(run.runId, 'b', index);
      expect(await Promise.all([0, 1, 2, 5, -1, -2, -9].map(find))).toStrictEqual([
        { after: 0, skip: 0 },
        { after: 2, skip: 0 },
        { after: 3, skip: 0 },
        { after: 3, skip: 3 },
        { after: 2, skip: 0 },
        { after: 0, skip: 0 },
        { after: 0, skip: 0 },
      ]);
    });

    test('are written by whoever was handed the stream, until its run has ended', async () => {
      const run = await start(world.journal, newRun());
      const { chunks } = world.journal;
      expect(await chunks.write(run.runId, null, [chunk('a', '1')])).toBe(1);
      expect(await chunks.write(run.runId, 1, [chunk('a', '2')])).toBe(2);
      await write(world.journal, run, 0, { status: 'completed' });
      expect(await chunks.write(run.runId, null, [chunk('a', '3')])).toBeUndefined();
      expect(await chunks.write('nothing', null, [chunk('a', '3')])).toBeUndefined();
      expect(await readAll(world.journal, run.runId, 'a')).toMatchObject([{ payload: '1' }, { payload: '2' }]);
    });

    test('of one run do not reach another', async () => {
      const runs = [await start(world.journal, newRun()), await start(world.journal, newRun())];
      for (const run of runs) expect(await world.journal.chunks.write(run.runId, 1, [chunk('a', run.runId)])).toBe(1);
      for (const { runId } of runs)
        expect(await readAll(world.journal, runId, 'a')).toStrictEqual([{ n: 1, namespace: 'a', payload: runId }]);
    });

    test('of many runs at once are each whole and in order, and a fenced one holds up none', async () => {
      const { chunks } = world.journal;
      const runs = await Promise.all(Array.from({ length: 30 }, () => start(world.journal, newRun())));
      const gone = await start(world.journal, newRun());
      await write(world.journal, gone, 0, { status: 'completed' });
      const writes = runs.flatMap(({ runId }) => [
        chunks.write(runId, 1, [chunk('a', `1 ${runId}`), chunk('b', '2')]),
        chunks.write(gone.runId, 1, [chunk('a', '1')]),
        chunks.write(runId, 1, [chunk('a', '3')]),
      ]);
      // While their rows change.
      const appends = runs.map((run) => write(world.journal, run, 1));
      const answers = await Promise.all(writes);
      await Promise.all(appends);
      expect(answers).toStrictEqual(runs.flatMap(() => [2, undefined, 3]));
      for (const { runId } of runs)
        expect(await readAll(world.journal, runId, 'a')).toStrictEqual([
          { n: 1, namespace: 'a', payload: `1 ${runId}` },
          { n: 3, namespace: 'a', payload: '3' },
        ]);
    });

    test('are refused from a lower epoch, and once the run is final', async () => {
      const run = await start(world.journal, newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      await claim(world.journal);
      expect(await world.journal.chunks.write(run.runId, 1, [chunk('a', '1')])).toBeUndefined();
      await write(world.journal, { ...run, epoch: 2 }, 0, { status: 'completed' });
      expect(await world.journal.chunks.write(run.runId, 2, [chunk('a', '1')])).toBeUndefined();
      expect(await world.journal.chunks.write('nothing', 2, [chunk('a', '1')])).toBeUndefined();
      expect(await readAll(world.journal, run.runId, 'a')).toStrictEqual([]);
    });

    test('written at once, from two journals and beside appends, are kept without a gap, each writer in its order', async () => {
      const journals = [world.journal, await world.open()];
      const run = await start(world.journal, newRun());
      const writing = journals.flatMap((journal, index) =>
        Array.from({ length: 30 }, (_, n) =>
          journal.chunks.write(run.runId, 1, [chunk(`w${index}`, `${n}a`), chunk(`w${index}`, `${n}b`)]),
        ),
      );
      const appending = Array.from({ length: 10 }, (_, seq) =>
        world.journal.append(newAppend({ ...run, seq }, { records: [newRecord(seq)] })),
      );
      expect(await Promise.all(appending)).toStrictEqual(appending.map(() => APPENDED));
      const last = await Promise.all(writing);
      const all = (await Promise.all(['w0', 'w1'].map((name) => readAll(world.journal, run.runId, name)))).flat();
      expect(all.map(({ n }) => n).toSorted((a, b) => a - b)).toStrictEqual(
        Array.from({ length: 120 }, (_, n) => n + 1),
      );
      // What one write brought stays together.
      for (const n of last) {
        const [one, two] = [n, Number(n) - 1].map((at) => all.find((each) => each.n === at)?.payload);
        expect(one?.replace('b', 'a')).toBe(two);
      }
      expect((await read(world.journal, run.runId)).seq).toBe(10);
    });

    test('can be any string, and large', async () => {
      const run = await start(world.journal, newRun());
      const given = [chunk('\0\ud800', `'"\0`), chunk('\0\ud800', 'ü'.repeat(300 * 1024))];
      await world.journal.chunks.write(run.runId, 1, given);
      expect(await readAll(world.journal, run.runId, '\0\ud800')).toStrictEqual(
        given.map((each, index) => ({ ...each, n: index + 1 })),
      );
    });

    test('none written answers the last number', async () => {
      const run = await start(world.journal, newRun());
      expect(await world.journal.chunks.write(run.runId, 1, [])).toBe(0);
      await world.journal.chunks.write(run.runId, 1, [chunk('a', '1')]);
      expect(await world.journal.chunks.write(run.runId, 1, [])).toBe(1);
    });
  });
}

// --- internal ---

function chunk(namespace: string, payload: string): NewChunk {
  return { namespace, payload };
}

function readAll(journal: Journal, runId: string, namespace: string): Promise<Chunk[]> {
  return journal.chunks.read(runId, namespace, { after: 0, limit: 1_000 });
}
