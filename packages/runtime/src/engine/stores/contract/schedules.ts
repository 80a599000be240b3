import { describe, expect, test } from 'vitest';
import type { Journal } from '../../journal.ts';
import type { DeclaredSchedule, Schedule } from '../../journal/schedules.ts';
import { start, until } from './world.ts';
import type { World } from './world.ts';
import { newRun } from './records.ts';

export function describeSchedules(world: World): void {
  describe('schedules', () => {
    test('new ones are as given, not paused and never fired', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('b:0', { timeZone: 'Europe/Berlin' }), given('a:0')]);
      const fresh = {
        origin: 'declared',
        digest: '',
        createdAt: expect.any(Number) as number,
        isPaused: false,
        lastAt: null,
        lastRunId: null,
        lastStatus: null,
        lastError: null,
        armedBy: null,
      };
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

    const changes = [{ cron: '1 * * * *' }, { timeZone: 'UTC' }, { input: '[2]' }];
    test.each(changes)('a changed one has the new next: %o', async (change) => {
      const { schedules } = world.journal;
      const later = (await world.journal.now()) + 3_600_000;
      await schedules.reconcile([given('a:0')]);
      await schedules.advance('a:0', 1_000, later, { at: 1_001, runId: null });
      await schedules.reconcile([given('a:0', { ...change, nextAt: 9_000 })]);
      expect(await find(world.journal, 'a:0')).toMatchObject({ ...change, nextAt: 9_000, lastAt: 1_001 });
    });

    test.each(changes)('a changed one that is due stays due, also in the hand of a replica: %o', async (change) => {
      const { schedules } = world.journal;
      const later = (await world.journal.now()) + 3_600_000;
      await schedules.reconcile([given('a:0')]);
      await schedules.reconcile([given('a:0', { ...change, nextAt: later })]);
      expect(await find(world.journal, 'a:0')).toMatchObject({ ...change, nextAt: 1_000 });
      expect(await schedules.takeDue(9, 60_000)).toMatchObject([{ ...change, nextAt: 1_000 }]);
      await schedules.reconcile([given('a:0', { nextAt: later })]);
      expect(await find(world.journal, 'a:0')).toMatchObject({ nextAt: 1_000 });
      // Declared again after it was gone, it makes up for nothing.
      await schedules.reconcile([]);
      await schedules.reconcile([given('a:0', { ...change, nextAt: later })]);
      expect(await find(world.journal, 'a:0')).toMatchObject({ nextAt: later });
    });

    test('one whose times have changed since it was taken does not move on by those it had', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('a:0')]);
      const was = { cron: '* * * * *', timeZone: null };
      const advance = (times: typeof was) => schedules.advance('a:0', 1_000, 2_000, { at: 1, runId: 'r' }, times);
      expect(await advance({ ...was, cron: '1 * * * *' })).toBe(false);
      await schedules.reconcile([given('a:0', { timeZone: 'UTC' })]);
      expect(await advance(was)).toBe(false);
      expect(await find(world.journal, 'a:0')).toMatchObject({ nextAt: 1_000, lastRunId: null });
      await schedules.reconcile([given('a:0')]);
      expect(await advance(was)).toBe(true);
    });

    test('one that is given back is due at once for others, and says why; whoever gave it back can pass over it', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('a:0'), given('b:0')]);
      await schedules.takeDue(9, 60_000);
      await schedules.giveBack([]);
      await schedules.giveBack([{ id: 'a:0', expected: 999, error: '[1]' }]);
      expect(await schedules.takeDue(9, 60_000)).toEqual([]);
      await schedules.giveBack([
        { id: 'a:0', expected: 1_000, error: '[1]' },
        { id: 'x:0', expected: 1_000, error: '[2]' },
      ]);
      expect(await find(world.journal, 'a:0')).toMatchObject({ nextAt: 1_000, lastAt: null, lastError: '[1]' });
      expect(await schedules.listFirings('a:0')).toEqual([]);
      expect(await schedules.takeDue(9, 60_000, ['a:0', 'c:0'])).toEqual([]);
      expect(await schedules.takeDue(9, 60_000, ['c:0'])).toMatchObject([{ id: 'a:0' }]);
      await schedules.advance('a:0', 1_000, 2_000, { at: 1, runId: null });
      expect(await find(world.journal, 'a:0')).toMatchObject({ lastError: null });
    });

    test('each names the code that declared it last', async () => {
      const { schedules } = world.journal;
      const codesOf = async () => (await schedules.listDeclared()).map(({ codeHash }) => codeHash);
      await schedules.reconcile([given('a:0', { codeHash: 'old' }), given('b:0')]);
      expect(await codesOf()).toEqual(['old', '']);
      await schedules.reconcile([given('a:0', { codeHash: 'new' }), given('b:0', { codeHash: 'new' })]);
      expect(await codesOf()).toEqual(['new', 'new']);
    });

    test('others are gone, and reconciling none removes all', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('a:0'), given('a:1'), given('b:0')]);
      await schedules.reconcile([given('a:1')]);
      expect((await schedules.list()).map(({ id }) => id)).toStrictEqual(['a:1']);
      await schedules.reconcile([]);
      expect(await schedules.list()).toStrictEqual([]);
    });

    test('one that is gone is in no list and does not fire, and has its pause and a new time when it is back', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('a:0'), given('a:1')]);
      await schedules.setPaused('a:0', true, 1_000);
      expect(await schedules.reconcile([])).toBe(true);
      expect([await schedules.list(), await schedules.find('a:0'), await schedules.takeDue(9, 0)]).toEqual([
        [],
        undefined,
        [],
      ]);
      expect(await schedules.listDeclared()).toMatchObject([
        { id: 'a:0', isGone: true },
        { id: 'a:1', isGone: true },
      ]);
      await schedules.reconcile([given('a:0', { nextAt: 9_000 })]);
      expect(await schedules.list()).toMatchObject([{ id: 'a:0', isPaused: true, nextAt: 9_000 }]);
      await schedules.forgetSpent(0, (await world.journal.now()) + 1);
      expect((await schedules.listDeclared()).map(({ id }) => id)).toEqual(['a:0']);
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
      const due = async (limit: number): Promise<string[]> => (await schedules.takeDue(limit, 0)).map(({ id }) => id);
      expect(await due(10)).toStrictEqual(['early', 'late']);
      expect(await due(1)).toStrictEqual(['early']);
      await schedules.setPaused('paused', false, now - 5);
      expect(await due(10)).toStrictEqual(['early', 'late', 'paused']);
    });

    test('no more are taken at once than their inputs may have bytes, but for the one that goes over it', async () => {
      const { schedules } = world.journal;
      const input = `2"${'é'.repeat(499)}"`;
      await schedules.reconcile(['a:0', 'b:0', 'c:0', 'd:0'].map((id) => given(id, { input })));
      const take = async (most: number) => (await schedules.takeDue(9, 60_000, [], most)).map(({ id }) => id);
      expect(await take(1)).toStrictEqual(['a:0']);
      expect(await take(1_500)).toStrictEqual(['b:0', 'c:0']);
      expect(await take(1_000_000)).toStrictEqual(['d:0']);
      expect(await take(1_000_000)).toStrictEqual([]);
    });

    test('a due one is taken by one replica until it is advanced, or its hold is over', async () => {
      const other = await world.open();
      const journals = [world.journal, other];
      await world.journal.schedules.reconcile(Array.from({ length: 40 }, (_, n) => given(`a:${n}`)));
      const take = async (holdMs: number) => {
        const sent = Array.from({ length: 8 }, (_, n) => (journals[n % 2] as Journal).schedules.takeDue(5, holdMs));
        return (await Promise.all(sent)).flat().map(({ id }) => id);
      };
      const taken = new Set<string>();
      await until(async () => {
        const more = await take(60_000);
        expect(more.filter((id) => taken.has(id))).toEqual([]);
        for (const id of more) taken.add(id);
        return taken.size === 40;
      });
      expect(await take(60_000)).toStrictEqual([]);
      await world.journal.schedules.advance('a:7', 1_000, 2_000, { at: 1, runId: null });
      // On a slow machine the hold may be over before the last of them has asked.
      expect([...new Set(await take(20))]).toStrictEqual(['a:7']);
      await until(async () => (await take(60_000)).length === 1);
    });

    test('advance notes the run it fired, once', async () => {
      const { schedules } = world.journal;
      await schedules.reconcile([given('a:0')]);
      const { runId } = await start(world.journal, newRun());
      expect(await schedules.advance('a:0', 1_000, 2_000, { at: 1_500, runId })).toBe(true);
      expect(await schedules.advance('a:0', 1_000, 2_000, { at: 1_600, runId: 'r2' })).toBe(false);
      expect(await schedules.advance('x:0', 1_000, 2_000, { at: 1_600, runId: 'r2' })).toBe(false);
      expect(await find(world.journal, 'a:0')).toMatchObject({
        nextAt: 2_000,
        lastAt: 1_500,
        lastRunId: runId,
        lastStatus: 'running',
      });
      expect(await schedules.advance('a:0', 2_000, 3_000, { at: 2_500, runId: null })).toBe(true);
      expect(await find(world.journal, 'a:0')).toMatchObject({ lastAt: 2_500, lastRunId: null });
    });

    test('many that advance at once each move on and note what they fired', async () => {
      const other = await world.open();
      const ids = Array.from({ length: 30 }, (_, n) => `a:${n}`);
      await world.journal.schedules.reconcile(ids.map((id) => given(id)));
      const advance = (journal: Journal, id: string, n: number) =>
        journal.schedules.advance(id, n === 7 ? 999 : 1_000, 2_000 + n, { at: 1_500 + n, runId: `r${n}`, error: null });
      const sent = ids.flatMap((id, n) => [world.journal, other].map((journal) => advance(journal, id, n)));
      const moved = await Promise.all(sent);
      expect(moved.filter(Boolean)).toHaveLength(29);
      for (const [n, id] of ids.entries()) {
        const wanted = n === 7 ? { nextAt: 1_000, lastAt: null } : { nextAt: 2_000 + n, lastAt: 1_500 + n };
        expect(await find(world.journal, id)).toMatchObject(wanted);
        expect(await world.journal.schedules.listFirings(id)).toHaveLength(n === 7 ? 0 : 1);
      }
    });

    test('of replicas that advance one schedule at once, one gets true', async () => {
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

export function describeMadeSchedules(world: World): void {
  describe('a schedule that code made', () => {
    const made = { id: 'a@x', name: 'a', cron: null, timeZone: null, input: '[1]', digest: 'd', nextAt: 1_000 };

    test('is as given, and stays when the declared ones change', async () => {
      const { schedules } = world.journal;
      const fresh = { ...made, origin: 'made', isPaused: false, lastAt: null, lastRunId: null, lastError: null };
      expect(await schedules.make(made)).toMatchObject(fresh);
      await schedules.reconcile([given('a:0')]);
      await schedules.reconcile([]);
      expect(await schedules.list()).toMatchObject([fresh]);
    });

    test('made again is not armed again, also once it has fired; of another digest it is', async () => {
      const { schedules } = world.journal;
      const first = await schedules.make(made);
      expect(await schedules.make({ ...made, nextAt: 9_000 })).toStrictEqual(first);
      await schedules.advance('a@x', 1_000, null, { at: 1_001, runId: null });
      expect(await schedules.make({ ...made, nextAt: 9_000 })).toMatchObject({ nextAt: null, lastAt: 1_001 });
      expect(await schedules.takeDue(10, 0)).toStrictEqual([]);
      expect(await schedules.make({ ...made, digest: 'e', nextAt: 9_000 })).toMatchObject({ nextAt: 9_000 });
    });

    test('keeps who armed it, until it is resumed: then whoever did that, or no one', async () => {
      const { schedules } = world.journal;
      await schedules.make({ ...made, armedBy: '["a"]' });
      const armedBy = async () => (await find(world.journal, 'a@x'))?.armedBy;
      await schedules.setPaused('a@x', true, 5, '["b"]');
      expect(await armedBy()).toBe('["a"]');
      await schedules.setPaused('a@x', false, 5, '["b"]');
      await schedules.setPaused('a@x', false, 5);
      expect(await armedBy()).toBe('["b"]');
      await schedules.setPaused('a@x', true, 5);
      await schedules.setPaused('a@x', false, 5);
      expect(await armedBy()).toBeNull();
      await schedules.make({ ...made, digest: 'e', armedBy: '["c"]' });
      expect(await armedBy()).toBe('["c"]');
    });

    test('made by many replicas at once is one', async () => {
      const other = await world.open();
      const sent = Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? other : world.journal).schedules.make({ ...made, nextAt: 1_000 + n }),
      );
      expect(new Set((await Promise.all(sent)).map(({ nextAt }) => nextAt)).size).toBe(1);
      expect(await world.journal.schedules.list()).toHaveLength(1);
    });

    test('is removed once', async () => {
      const { schedules } = world.journal;
      await schedules.make(made);
      expect([await schedules.remove('a@x'), await schedules.remove('a@x')]).toEqual([true, false]);
      expect(await schedules.find('a@x')).toBeUndefined();
    });

    test('is forgotten some time after it has fired its one time, and not before', async () => {
      const { schedules } = world.journal;
      for (const id of ['a@x', 'a@y', 'a@z']) await schedules.make({ ...made, id });
      await schedules.advance('a@x', 1_000, null, { at: 2_000, runId: null });
      await schedules.advance('a@y', 1_000, null, { at: 3_000, runId: null });
      await schedules.forgetSpent(3_000, 0);
      expect((await schedules.list()).map(({ id }) => id)).toEqual(['a@y', 'a@z']);
    });

    test('names what it last started: a run, a queued start, and the run that became; or why nothing', async () => {
      const { journal } = world;
      await journal.schedules.make(made);
      const serial = (triggerId: string) => ({ serial: { key: 'k', triggerId, whenTaken: 'queue' as const } });
      const holder = await start(journal, newRun(serial('t0')));
      await journal.create(newRun(serial('t1')));
      const last = async () => {
        const { lastRunId, lastStatus, lastError } = (await find(journal, 'a@x')) ?? {};
        return [lastRunId, lastStatus, lastError];
      };
      await journal.schedules.noteFiring('a@x', { at: 1, runId: holder.runId });
      expect(await last()).toEqual([holder.runId, 'running', null]);
      await journal.schedules.noteFiring('a@x', { at: 2, runId: null, triggerId: 't1' });
      // Noted again, it is the same firing.
      await journal.schedules.noteFiring('a@x', { at: 2, runId: null, triggerId: 't1' });
      expect(await last()).toEqual([null, 'queued', null]);
      await journal.cancel(holder.runId, '[1]', () => 'next');
      expect(await last()).toEqual(['next', 'queued', null]);
      await journal.schedules.noteFiring('a@x', { at: 3, runId: null, error: '[2]' });
      expect(await last()).toEqual([null, null, '[2]']);
      expect(await journal.schedules.listFirings('a@x')).toStrictEqual([
        { at: 3, runId: null, status: null, error: '[2]' },
        { at: 2, runId: 'next', status: 'queued', error: null },
        { at: 1, runId: holder.runId, status: 'cancelled', error: null },
      ]);
    });

    test('keeps its last 20 firings, and pages by id', async () => {
      const { schedules } = world.journal;
      for (const id of ['a@c', 'a@a', 'b@b']) await schedules.make({ ...made, id, name: id.slice(0, 1) });
      for (let at = 1; at <= 25; at++) await schedules.noteFiring('a@a', { at, runId: null });
      const firings = await schedules.listFirings('a@a');
      expect([firings.length, firings[0]?.at, firings.at(-1)?.at]).toEqual([20, 25, 6]);
      const ids = async (...asked: Parameters<typeof schedules.list>) =>
        (await schedules.list(...asked)).map(({ id }) => id);
      expect(await ids({}, { limit: 2 })).toEqual(['a@a', 'a@c']);
      expect(await ids({}, { limit: 2, after: 'a@c' })).toEqual(['b@b']);
      expect(await ids({ name: 'a' }, { limit: 2, after: 'a@a' })).toEqual(['a@c']);
    });

    test('is paused once, and keeps no time when it has none', async () => {
      const { schedules } = world.journal;
      await schedules.make(made);
      expect([await schedules.setPaused('a@x', true, 5), await schedules.setPaused('a@x', true, 6)]).toEqual([
        true,
        false,
      ]);
      expect(await find(world.journal, 'a@x')).toMatchObject({ isPaused: true, nextAt: 5 });
      await schedules.advance('a@x', 5, null, { at: 6, runId: null });
      await schedules.setPaused('a@x', false, 7);
      expect(await find(world.journal, 'a@x')).toMatchObject({ isPaused: false, nextAt: null });
    });
  });
}

// --- internal ---

type Given = DeclaredSchedule;

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
