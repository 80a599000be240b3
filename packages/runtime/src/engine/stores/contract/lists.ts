import { describe, expect, test } from 'vitest';
import type { RunFilter } from '../../journal/reading.ts';
import type { RunStatus } from '../../journal/run.ts';
import { createWaiting, ids, QUEUED, start, write } from './world.ts';
import type { World } from './world.ts';
import { newRun } from './records.ts';

export function describeLists(world: World): void {
  describe('lists of runs', () => {
    const list = async (filter: RunFilter) => ids(await world.journal.listRuns(filter, { limit: 100 }));

    test('by status have each run in one', async () => {
      const { journal } = world;
      const of: Record<string, string> = {};
      of.queued = (await start(journal, newRun(QUEUED))).runId;
      of.running = (await start(journal, newRun())).runId;
      of.waiting = (await createWaiting(journal, null)).runId;
      for (const status of ['blocked', 'completed', 'failed'] as const) {
        const run = await start(journal, newRun());
        await write(journal, run, 0, { status, release: true });
        of[status] = run.runId;
      }
      const cancelled = await start(journal, newRun());
      await journal.cancel(cancelled.runId, '[1]', () => 'none');
      of.cancelled = cancelled.runId;
      const released = await start(journal, newRun());
      await write(journal, released, 0, { release: true });
      for (const [status, runId] of Object.entries(of))
        expect(await list({ status: status as RunStatus })).toEqual(
          status === 'running' ? [released.runId, runId] : [runId],
        );
    });

    test('by what they repeat and by when they were created', async () => {
      const { journal } = world;
      const first = await start(journal, newRun());
      const second = await start(journal, newRun({ retryOf: first.runId }));
      expect(await list({ retryOf: first.runId })).toEqual([second.runId]);
      const { createdAt } = second;
      expect(await list({ from: createdAt })).toContain(second.runId);
      expect(await list({ from: createdAt + 1 })).not.toContain(second.runId);
      expect(await list({ to: createdAt + 1 })).toEqual([second.runId, first.runId]);
      expect(await list({ to: createdAt })).not.toContain(second.runId);
    });

    test.each([
      ['text', 'a', 'x', true],
      ['the last member', 'end', 'last', true],
      ['a number', 'n', '12', true],
      ['the beginning of a number', 'n', '1', false],
      ['a number as text', 's', '12', true],
      ['a boolean', 'yes', 'true', true],
      ['the beginning of a text', 'a', '', false],
      ['text with quotes', 'q', '"a":"x"', true],
      ['what only a value says', 'z', '1', false],
      ['any string', '\0\ud800', "'%_\\", true],
      ['another name', 'b', 'x', false],
    ])('by a mark: %s', async (_, name, value, isFound) => {
      const marks = { a: 'x', n: 12, s: '12', yes: true, q: '"a":"x"', v: ',"z":1,', '\0\ud800': "'%_\\", end: 'last' };
      const run = await start(world.journal, newRun());
      await start(world.journal, newRun());
      await write(world.journal, run, 0, { attributes: JSON.stringify(marks) });
      expect(await list({ attribute: { name, value } })).toEqual(isFound ? [run.runId] : []);
    });

    test('without those that carry the mark of another owner', async () => {
      const marked = (by: string, more = {}) => newRun({ attributes: JSON.stringify({ ...more, 'svc.by': by }) });
      const plain = await start(world.journal, newRun());
      const mine = await start(world.journal, marked('me "1"', { note: '"svc.by":"you"' }));
      const yours = await start(world.journal, marked('me "11"'));
      const hidden = { mark: 'svc.by', unless: 'me "1"' };
      expect(await list({ hidden })).toEqual([mine.runId, plain.runId]);
      expect(await list({})).toEqual([yours.runId, mine.runId, plain.runId]);
      const [tally] = await world.journal.tallyRuns({ hidden }, 24 * 60 * 60 * 1000 * 365);
      expect(tally?.count).toBe(2);
    });

    test('are counted by status and time', async () => {
      const { journal } = world;
      const tokens = { inputTokens: 3, outputTokens: 4, totalTokens: 7 };
      for (let n = 0; n < 3; n++)
        await write(journal, await start(journal, newRun()), 0, { status: 'completed', ...tokens });
      await start(journal, newRun());
      const tallies = await journal.tallyRuns({ name: 'refund' }, 24 * 60 * 60 * 1000 * 365);
      const none = { cacheReadTokens: 0, cacheWriteTokens: 0 };
      expect(tallies).toStrictEqual([
        {
          bucket: expect.any(Number),
          status: 'completed',
          count: 3,
          timed: 3,
          durationSum: expect.any(Number),
          durationMax: expect.any(Number),
          ...none,
          inputTokens: 9,
          outputTokens: 12,
          totalTokens: 21,
        },
        {
          bucket: expect.any(Number),
          status: 'running',
          count: 1,
          timed: 0,
          durationSum: 0,
          durationMax: 0,
          inputTokens: 0,
          outputTokens: 0,
          totalTokens: 0,
          ...none,
        },
      ]);
      expect(await journal.tallyRuns({ name: 'other' }, 1_000)).toStrictEqual([]);
    });
  });
}
