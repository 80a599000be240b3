import { describe, expect, test } from 'vitest';
import type { Chunk, Journal, NewChunk } from '../../journal.ts';
import { APPENDED, claim, start, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeStreams(world: World): void {
  describe('chunks', () => {
    test('are numbered from 1 over all namespaces, however they are written', async () => {
      const run = await start(world.journal, newRun());
      const { chunks } = world.journal;
      expect(await chunks.write(run.runId, 1, [chunk('a', '1'), chunk('b', '2')])).toBe(2);
      await world.journal.append(
        newAppend(run, { records: [newRecord(0)], chunks: [chunk('a', '3'), chunk('a', '4'), chunk('b', '5')] }),
      );
      expect(await chunks.write(run.runId, 1, [chunk('a', '6')])).toBe(6);
      expect(await readAll(world.journal, run.runId, 'a')).toStrictEqual(
        [1, 3, 4, 6].map((n) => ({ n, namespace: 'a', payload: String(n) })),
      );
      expect(await chunks.read(run.runId, 'b', { after: 2, limit: 9 })).toMatchObject([{ n: 5 }]);
      expect(await chunks.read(run.runId, 'a', { after: 1, limit: 2 })).toMatchObject([{ n: 3 }, { n: 4 }]);
      expect(await readAll(world.journal, run.runId, 'c')).toStrictEqual([]);
    });

    test('of one run do not reach another', async () => {
      const runs = [await start(world.journal, newRun()), await start(world.journal, newRun())];
      for (const run of runs) expect(await world.journal.chunks.write(run.runId, 1, [chunk('a', run.runId)])).toBe(1);
      for (const { runId } of runs)
        expect(await readAll(world.journal, runId, 'a')).toStrictEqual([{ n: 1, namespace: 'a', payload: runId }]);
    });

    test('are refused from a lower epoch, and once the run is final', async () => {
      const run = await start(world.journal, newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      await claim(world.journal);
      expect(await world.journal.chunks.write(run.runId, 1, [chunk('a', '1')])).toBeUndefined();
      const refused = newAppend(run, { records: [newRecord(0)], chunks: [chunk('a', '1')] });
      expect(await world.journal.append(refused)).toStrictEqual({ outcome: 'fenced' });
      await write(world.journal, { ...run, epoch: 2 }, 0, { status: 'completed' });
      expect(await world.journal.chunks.write(run.runId, 2, [chunk('a', '1')])).toBeUndefined();
      expect(await world.journal.chunks.write('nothing', 2, [chunk('a', '1')])).toBeUndefined();
      expect(await readAll(world.journal, run.runId, 'a')).toStrictEqual([]);
    });

    test('written at once, from two journals and with appends, are kept without a gap, each writer in its order', async () => {
      const journals = [world.journal, await world.open()];
      const run = await start(world.journal, newRun());
      const writing = journals.flatMap((journal, index) =>
        Array.from({ length: 30 }, (_, n) =>
          journal.chunks.write(run.runId, 1, [chunk(`w${index}`, `${n}a`), chunk(`w${index}`, `${n}b`)]),
        ),
      );
      const appending = Array.from({ length: 10 }, (_, seq) =>
        world.journal.append(
          newAppend({ ...run, seq }, { records: [newRecord(seq)], chunks: [chunk('x', String(seq))] }),
        ),
      );
      expect(await Promise.all(appending)).toStrictEqual(appending.map(() => APPENDED));
      const last = await Promise.all(writing);
      const all = (await Promise.all(['w0', 'w1', 'x'].map((name) => readAll(world.journal, run.runId, name)))).flat();
      expect(all.map(({ n }) => n).toSorted((a, b) => a - b)).toStrictEqual(
        Array.from({ length: 130 }, (_, n) => n + 1),
      );
      // What one write brought stays together.
      for (const n of last) {
        const [one, two] = [n, Number(n) - 1].map((at) => all.find((each) => each.n === at)?.payload);
        expect(one?.replace('b', 'a')).toBe(two);
      }
      const appended = all.filter(({ namespace }) => namespace === 'x').map(({ payload }) => Number(payload));
      expect(appended).toStrictEqual(Array.from({ length: 10 }, (_, n) => n));
    });

    test('a repeat of the append writes none twice, and it can be the last', async () => {
      const run = await start(world.journal, newRun());
      const entry = newAppend(run, {
        records: [newRecord(0)],
        chunks: [chunk('a', '1')],
        outbox: [{ topic: 't', payload: 'p' }],
        patch: { status: 'completed' },
      });
      for (let n = 0; n < 2; n++) expect(await world.journal.append(entry)).toStrictEqual(APPENDED);
      expect(await readAll(world.journal, run.runId, 'a')).toHaveLength(1);
      expect(await world.journal.outbox.read(9)).toHaveLength(1);
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

  describe('outbox', () => {
    test('messages are read in the order of their commits until they are removed', async () => {
      const run = await start(world.journal, newRun());
      const message = (n: number): { topic: string; payload: string } => ({ topic: 'runs', payload: `[${n}]` });
      await world.journal.append(newAppend(run, { records: [newRecord(0)], outbox: [message(0), message(1)] }));
      await world.journal.append(newAppend({ ...run, seq: 1 }, { records: [newRecord(1)], outbox: [message(2)] }));
      const all = await world.journal.outbox.read(10);
      expect(all.map(({ topic, payload }) => ({ topic, payload }))).toStrictEqual([0, 1, 2].map(message));
      expect(all.map(({ id }) => id)).toStrictEqual(all.map(({ id }) => id).toSorted((a, b) => a - b));
      expect(await world.journal.outbox.read(2)).toStrictEqual(all.slice(0, 2));
      await world.journal.outbox.remove([]);
      await world.journal.outbox.remove([all[0]?.id ?? 0, 10 ** 9]);
      expect(await world.journal.outbox.read(10)).toStrictEqual(all.slice(1));
    });

    test('a refused append sends nothing', async () => {
      const run = await start(world.journal, newRun());
      const outbox = [{ topic: 'runs', payload: '[1]' }];
      await world.journal.append(newAppend({ ...run, epoch: 0 }, { records: [newRecord(0)], outbox }));
      await world.journal.append(newAppend({ ...run, seq: 1 }, { records: [newRecord(1)], outbox }));
      expect(await world.journal.outbox.read(10)).toStrictEqual([]);
    });

    test('a new message never takes the id of a removed one', async () => {
      const run = await start(world.journal, newRun());
      const send = async (seq: number): Promise<number> => {
        const outbox = [{ topic: '\0t', payload: '\ud800' }];
        await world.journal.append(newAppend({ ...run, seq }, { records: [newRecord(seq)], outbox }));
        const [message] = await world.journal.outbox.read(1);
        expect(message).toMatchObject({ topic: '\0t', payload: '\ud800' });
        await world.journal.outbox.remove([message?.id ?? 0]);
        return message?.id ?? 0;
      };
      const [first, second] = [await send(0), await send(1)];
      expect(second).toBeGreaterThan(first);
    });

    test('2,000 messages of runs that append at once are all there, each run in its order', async () => {
      const runs = await Promise.all(Array.from({ length: 40 }, () => start(world.journal, newRun())));
      await Promise.all(
        runs.flatMap((run) =>
          Array.from({ length: 25 }, (_, seq) => {
            const outbox = [0, 1].map((part) => ({ topic: run.runId, payload: String(2 * seq + part) }));
            return world.journal.append(newAppend({ ...run, seq }, { records: [newRecord(seq)], outbox }));
          }),
        ),
      );
      const messages = await world.journal.outbox.read(5_000);
      for (const { runId } of runs) {
        const mine = messages.filter(({ topic }) => topic === runId).map(({ payload }) => Number(payload));
        expect(mine).toStrictEqual(Array.from({ length: 50 }, (_, n) => n));
      }
      await world.journal.outbox.remove(messages.map(({ id }) => id));
      expect(await world.journal.outbox.read(1)).toStrictEqual([]);
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
