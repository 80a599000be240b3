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
      ['a number with a fraction', 'f', '0.1', true],
      ['a great number', 'g', '1e+21', true],
      ['a fraction as text', 't', '0.1', true],
      ['another fraction', 'f', '0.2', false],
      ['a long text', 'l', 'x'.repeat(1_000), true],
      ['the beginning of a long text', 'l', 'x'.repeat(900), false],
      ['any string', '\u001a\u007f😀', "'%_\\", true],
      ['another name', 'b', 'x', false],
    ])('by a mark: %s', async (_, name, value, isFound) => {
      const numbers = { n: 12, s: '12', f: 0.1, t: '0.1', g: 1e21 };
      const texts = { a: 'x', yes: true, q: '"a":"x"', v: ',"z":1,', l: 'x'.repeat(1_000), '\u001a\u007f😀': "'%_\\" };
      const marks = { ...texts, ...numbers, end: 'last' };
      const run = await start(world.journal, newRun());
      await start(world.journal, newRun());
      await write(world.journal, run, 0, { attributes: JSON.stringify(marks) });
      expect(await list({ attribute: { name, value } })).toEqual(isFound ? [run.runId] : []);
    });

    test('by a mark that has changed, or went with its run', async () => {
      const { journal } = world;
      const marked = (n: number) => ({ attributes: JSON.stringify({ n, '\0': '\ud800', 'svc.asked_by': 'own' }) });
      const run = await start(journal, newRun(marked(1)));
      const other = await start(journal, newRun(marked(1)));
      const by = (value: string, name = 'n') => list({ attribute: { name, value } });
      expect(await by('1')).toEqual([other.runId, run.runId]);
      await write(journal, run, 0, { ...marked(2), status: 'completed' });
      expect([await by('1'), await by('2')]).toEqual([[other.runId], [run.runId]]);
      expect(await by('own', 'svc.asked_by')).toEqual([other.runId, run.runId]);
      expect(await world.count('run_attributes')).toBe(4);
      expect(await journal.deleteRun(run.runId)).toBe(true);
      expect([await by('2'), await world.count('run_attributes')]).toEqual([[], 2]);
    });

    test('by the application and the end user on whose behalf they run', async () => {
      const { journal } = world;
      const startedBy = (client: string | null, id?: string) =>
        newRun({
          startedBy: JSON.stringify({ kind: 'key', client, user: id === undefined ? null : { id, name: '\0' } }),
        });
      await start(journal, newRun());
      const shop = await start(journal, startedBy('shop'));
      const ada = await start(journal, startedBy('shop', 'ada "1"'));
      const other = await start(journal, startedBy('desk', 'ada "1"'));
      await start(journal, startedBy(null));
      expect(await list({ client: 'shop' })).toEqual([ada.runId, shop.runId]);
      expect(await list({ user: 'ada "1"' })).toEqual([other.runId, ada.runId]);
      expect(await list({ client: 'shop', user: 'ada "1"', name: 'refund' })).toEqual([ada.runId]);
      expect(await list({ user: 'ada' })).toEqual([]);
    });

    test('of large inputs and outputs have the beginning, where that is enough', async () => {
      const { journal } = world;
      const [small, large] = ['2"é\u001a"', `2"é\u001a${'x'.repeat(5_000)}"`];
      const run = await start(journal, newRun({ input: large }));
      await write(journal, run, 0, { status: 'completed', output: small });
      const other = await start(journal, newRun({ input: small }));
      await write(journal, other, 0, { status: 'completed', output: large });
      const [second, first] = await journal.listBriefRuns({ name: 'refund' }, { limit: 2 });
      expect(first).toMatchObject({
        runId: run.runId,
        output: small,
        cut: ['input'],
      });
      // As it is stored: what a database cannot hold takes more there.
      expect(first?.bytes.input).toBeGreaterThanOrEqual(Buffer.byteLength(large));
      expect(second).toMatchObject({ runId: other.runId, input: small, cut: ['output'] });
      expect(large.startsWith(first?.input ?? '')).toBe(true);
      expect(first?.input.length).toBeGreaterThan(1_900);
      expect(second?.output?.length).toBe(first?.input.length);
      const { cut: _, ...whole } = (await journal.listBriefRuns({}, { limit: 1, before: run.runId }))[0] ?? { cut: [] };
      expect(whole).toEqual({});
      expect((await journal.listRuns({}, { limit: 1 }))[0]?.output).toBe(large);
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
