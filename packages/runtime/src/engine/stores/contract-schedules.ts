import { describe, expect, test } from 'vitest';
import type { Journal, Schedule } from '../journal.ts';
import type { World } from './contract-world.ts';

export function describeSchedules(world: World): void {
  describe('schedules', () => {
    test('new ones are as given, not paused and never fired', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('b:0', { timeZone: 'Europe/Berlin' }), given('a:0')]);
      const fresh = { isPaused: false, lastAt: null, lastRunId: null };
      expect(await schedules.list()).toStrictEqual([
        { ...given('a:0'), ...fresh },
        { ...given('b:0', { timeZone: 'Europe/Berlin' }), ...fresh },
      ]);
    });

    test('unchanged ones keep their pause, last and next', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('a:0'), given('b:0', { timeZone: 'UTC' })]);
      await schedules.advance('a:0', 1_000, 5_000, { at: 1_001, runId: 'r' });
      await schedules.setPaused('b:0', true, 7_000);
      const before = await schedules.list();
      await schedules.reconcile([given('a:0', { nextAt: 9 }), given('b:0', { timeZone: 'UTC', nextAt: 9 })]);
      expect(await schedules.list()).toStrictEqual(before);
    });

    test.each([{ cron: '1 * * * *' }, { timeZone: 'UTC' }, { input: '[2]' }])(
      'a changed one has the new next: %o',
      async (change) => {
        const { schedules } = world.journal;
        await schedules.reconcile([given('a:0')]);
        await schedules.advance('a:0', 1_000, 5_000, { at: 1_001, runId: 'r' });
        await schedules.reconcile([given('a:0', { ...change, nextAt: 9_000 })]);
        expect(await find(world.journal, 'a:0')).toMatchObject({ ...change, nextAt: 9_000, lastRunId: 'r' });
      },
    );

    test('others are gone, and reconciling none removes all', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('a:0'), given('a:1'), given('b:0')]);
      await schedules.reconcile([given('a:1')]);
      expect((await schedules.list()).map(({ id }) => id)).toStrictEqual(['a:1']);
      await schedules.reconcile([]);
      expect(await schedules.list()).toStrictEqual([]);
    });

    test('due ones are those not paused whose time has come, earliest first', async () => {
      const { schedules } = world.journal;
      const now = await world.journal.now();
      await schedules.reconcile([
        given('late', { nextAt: now - 10 }),
        given('early', { nextAt: now - 20 }),
        given('paused', { nextAt: now - 30 }),
        given('later', { nextAt: now + 60_000 }),
      ]);
      await schedules.setPaused('paused', true, now - 30);
      const due = async (limit: number): Promise<string[]> => (await schedules.due(limit)).map(({ id }) => id);
      expect(await due(10)).toStrictEqual(['early', 'late']);
      expect(await due(1)).toStrictEqual(['early']);
      await schedules.setPaused('paused', false, now - 5);
      expect(await due(10)).toStrictEqual(['early', 'late', 'paused']);
    });

    test('advance notes the run it fired, once', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('a:0')]);
      expect(await schedules.advance('a:0', 1_000, 2_000, { at: 1_500, runId: 'r1' })).toBe(true);
      expect(await schedules.advance('a:0', 1_000, 2_000, { at: 1_600, runId: 'r2' })).toBe(false);
      expect(await schedules.advance('x:0', 1_000, 2_000, { at: 1_600, runId: 'r2' })).toBe(false);
      expect(await find(world.journal, 'a:0')).toMatchObject({ nextAt: 2_000, lastAt: 1_500, lastRunId: 'r1' });
      expect(await schedules.advance('a:0', 2_000, 3_000, { at: 2_500, runId: null })).toBe(true);
      expect(await find(world.journal, 'a:0')).toMatchObject({ lastAt: 2_500, lastRunId: null });
    });

    test('of replicas that advance one schedule at once, one is told so', async () => {
      const other = await world.open();
      await world.journal.schedules.reconcile([given('a:0')]);
      for (let at = 1_000; at < 1_020; at++) {
        const sent = [world.journal, other, world.journal, other].map((journal) =>
          journal.schedules.advance('a:0', at, at + 1, { at, runId: null }),
        );
        expect((await Promise.all(sent)).filter(Boolean)).toHaveLength(1);
      }
    });

    test('replicas that reconcile at once agree', async () => {
      const other = await world.open();
      const wanted = Array.from({ length: 10 }, (_, n) => given(`a:${n}`));
      await Promise.all([world.journal, other, world.journal].map((journal) => journal.schedules.reconcile(wanted)));
      expect(await world.journal.schedules.list()).toHaveLength(10);
    });

    test('a pause of what does not exist is false', async () => {
      expect(await world.journal.schedules.setPaused('x:0', true, 1)).toBe(false);
    });
  });
}

// --- internal ---

type Given = Parameters<Journal['schedules']['reconcile']>[0][number];

function given(id: string, fields: Partial<Given> = {}): Given {
  return {
    id,
    name: id.split(':')[0] ?? id,
    cron: '* * * * *',
    timeZone: null,
    input: '[1]',
    nextAt: 1_000,
    ...fields,
  };
}

async function find(journal: Journal, id: string): Promise<Schedule | undefined> {
  return (await journal.schedules.list()).find((schedule) => schedule.id === id);
}
