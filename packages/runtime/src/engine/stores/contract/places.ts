import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import type { Journal } from '../../journal.ts';
import { isFinal } from '../../journal/run.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { claim, start, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRun } from './records.ts';

export function describePlaces(world: World): void {
  describe('a lock of several places', () => {
    test('takes as many runs as it has, the next start queues, and an end lets one in', async () => {
      const holders = [await start(world.journal, placed('a', 2)), await start(world.journal, placed('b', 2))];
      expect(await world.journal.create(placed('c', 2))).toStrictEqual({ outcome: 'queued', triggerId: 'c' });
      expect(await world.journal.create(placed('d', 2))).toStrictEqual({ outcome: 'queued', triggerId: 'd' });
      expect(await world.journal.queue.findHolder('s')).toMatchObject({ runId: holders[0]?.runId });
      const nextRunId = newRunId();
      await world.journal.append(newAppend(holders[1] as RunRow, { patch: { status: 'failed' }, nextRunId }));
      expect(await world.journal.getRun(nextRunId)).toMatchObject({ triggerId: 'c', serialKey: 's' });
      expect(await triggers(world.journal)).toStrictEqual(['d']);
    });

    test('a start that is not to wait is refused, with the run that has held one for the longest', async () => {
      const first = await start(world.journal, placed('a', 2));
      await start(world.journal, placed('b', 2));
      const given = placed('c', 2, { serial: { key: 's', triggerId: 'c', whenTaken: 'refuse', limit: 2 } });
      expect(await world.journal.create(given)).toMatchObject({ outcome: 'refused', holder: { runId: first.runId } });
    });

    test('a claim fills all places that ends have left', async () => {
      const holders = [];
      for (const id of ['a', 'b', 'c']) holders.push(await start(world.journal, placed(id, 3)));
      for (const id of ['d', 'e', 'f', 'g']) await world.journal.create(placed(id, 3));
      // As ends that a crash has cut off from the promotion.
      for (const run of holders) await write(world.journal, run, 0, { status: 'completed' });
      const taken = await claim(world.journal);
      expect(taken.map((run) => run.triggerId)).toStrictEqual(['d', 'e', 'f']);
      expect(await triggers(world.journal)).toStrictEqual(['g']);
    });

    test('the limit of the newest start counts, raised or lowered', async () => {
      const holders = [await start(world.journal, placed('a', 2)), await start(world.journal, placed('b', 2))];
      await world.journal.create(placed('c', 2));
      // A deploy raises it: the one that waits goes first, then the new one.
      expect(await world.journal.create(placed('d', 4))).toMatchObject({ outcome: 'created' });
      expect(await triggers(world.journal)).toStrictEqual([]);
      // Another lowers it: none begins before three have ended.
      expect(await world.journal.create(placed('e', 2))).toMatchObject({ outcome: 'queued' });
      for (const run of holders) {
        await world.journal.append(newAppend(run, { patch: { status: 'completed' }, nextRunId: newRunId() }));
        expect(await triggers(world.journal)).toStrictEqual(['e']);
      }
    });

    test('goes on with a run that continues as another, with its place and its id', async () => {
      const ownId = { key: 'id', whenOpen: 'refuse', reuse: 'always' } as const;
      await start(world.journal, placed('a', 2));
      const second = await start(world.journal, placed('b', 2, { ownId }));
      const nextRunId = newRunId();
      const continueAs = { input: '[2]', codeHash: 'c0de', unread: [] };
      const entry = newAppend(second, { patch: { status: 'completed' }, nextRunId, continueAs });
      expect(await world.journal.append(entry)).toMatchObject({ outcome: 'appended' });
      expect(await world.journal.create(placed('c', 2))).toStrictEqual({ outcome: 'queued', triggerId: 'c' });
      expect(await world.journal.create(placed('d', 2, { ownId }))).toMatchObject({
        outcome: 'id_taken',
        start: { run: { runId: nextRunId } },
      });
    });

    test('hands its pause to the run it continues as: that one is to be unpaused', async () => {
      const run = await start(world.journal, placed('a', 2));
      await world.journal.pause(run.runId);
      const nextRunId = newRunId();
      const continueAs = { input: '[2]', codeHash: 'c0de', unread: [] };
      await world.journal.append(newAppend(run, { patch: { status: 'completed' }, nextRunId, continueAs }));
      expect(await world.journal.unpause(run.runId)).toBe(false);
      expect(await world.journal.unpause(nextRunId)).toBe(true);
      expect(await world.journal.getRun(nextRunId)).toMatchObject({ status: 'queued', pausedAt: null });
    });

    test('of the starts that wait the one of the highest priority begins first, and then the oldest', async () => {
      let holder = await start(world.journal, placed('a', 1));
      const given = Object.entries({ low: -1, first: 0, second: 0, high: 7 });
      for (const [id, priority] of given)
        await world.journal.create(placed(id, 1, { timing: { triggerId: id, priority } }));
      expect(await triggers(world.journal)).toStrictEqual(['high', 'first', 'second', 'low']);
      const begun: (string | null)[] = [];
      for (const _ of given) {
        const nextRunId = newRunId();
        await world.journal.append(newAppend(holder, { patch: { status: 'completed' }, nextRunId }));
        holder = (await world.journal.getRun(nextRunId)) as RunRow;
        begun.push(holder.triggerId);
      }
      expect(begun).toStrictEqual(['high', 'first', 'second', 'low']);
    });

    test('120 starts from two journals, with ends between them: never more than three at once, none lost', async () => {
      const journals = [world.journal, await world.open()] as const;
      let sent = 0;
      let ended = 0;
      let most = 0;
      const starting = journals.map(async (journal) => {
        while (sent < 120) await journal.create(placed(`t${sent++}`, 3));
      });
      const ending = journals.map(async (journal, index) => {
        while (ended < 120) {
          await new Promise(setImmediate);
          for (const run of await claim(journal, { owner: `o${index}`, limit: 9 })) {
            most = Math.max(most, await countOpen(journal));
            // Every third end leaves its place to be found by a claim, as a crash would.
            const next = ++ended % 3 ? { nextRunId: newRunId() } : {};
            const entry = newAppend(run, { patch: { status: 'completed' }, ...next });
            expect(await journal.append(entry)).toMatchObject({ outcome: 'appended' });
          }
        }
      });
      await Promise.all([...starting, ...ending]);
      expect(most).toBe(3);
      expect(await triggers(world.journal)).toStrictEqual([]);
      expect(await world.journal.listRuns({ status: 'completed' }, { limit: 200 })).toHaveLength(120);
    });
  });
}

// --- internal ---

function placed(triggerId: string, limit: number, fields: Partial<NewRun> = {}): NewRun {
  return newRun({ claim: null, serial: { key: 's', triggerId, whenTaken: 'queue', limit }, ...fields });
}

async function triggers(journal: Journal): Promise<string[]> {
  return (await journal.queue.list({}, { limit: 300 })).map((queued) => queued.triggerId);
}

async function countOpen(journal: Journal): Promise<number> {
  // In one look: of two, each could see another place taken.
  const runs = await journal.listRuns({}, { limit: 200 });
  return runs.filter(({ status }) => !isFinal(status)).length;
}
