import { describe, expect, test } from 'vitest';
import type { Journal } from '../../journal.ts';
import { MAX_EVENTS, MAX_LARGE_EVENTS, SMALL_EVENT } from '../../journal/hooks.ts';
import type { NewHook, ResumeResult } from '../../journal/hooks.ts';
import type { RunRow } from '../../journal/run.ts';
import { newRunId } from '../../ids.ts';
import { APPENDED, ids, listEvents, listHooks, read, start, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeHooks(world: World): void {
  describe('hooks', () => {
    test('a hook comes to be with its append and reads as it was made', async () => {
      const run = await start(world.journal, newRun());
      const before = await world.journal.now();
      await addHooks(world.journal, run, [newHook('t', { call: 3, kind: 'approval', many: true, detail: '[1]' })]);
      const hook = await world.journal.hooks.find('t');
      expect(hook).toStrictEqual({
        token: 't',
        runId: run.runId,
        call: 3,
        kind: 'approval',
        many: true,
        detail: '[1]',
        isOpen: true,
        verdict: null,
        createdAt: expect.any(Number) as number,
        since: 0,
      });
      expect(hook?.createdAt).toBeGreaterThanOrEqual(before);
      expect(await world.journal.hooks.find('u')).toBeUndefined();
    });

    test('what a hook was given, and what its run has taken, are counted', async () => {
      const run = await start(world.journal, newRun());
      const { hooks } = world.journal;
      expect([await hooks.countGiven('t'), await hooks.countTaken(run.runId)]).toEqual([undefined, 0]);
      await addHooks(world.journal, run, [newHook('t', { many: true }), newHook('u', { many: true })]);
      expect(await hooks.countGiven('t')).toEqual({ runId: run.runId, given: 0 });
      for (const payload of ['1', '2', '3']) await hooks.resume('t', payload);
      await hooks.resume('u', '1');
      expect(await hooks.countGiven('t')).toEqual({ runId: run.runId, given: 3 });
      const taken = { kind: 'hook', event: 'done', stepId: 'await webhook' } as const;
      const records = [newRecord(0, taken), newRecord(1, { ...taken, event: 'set' }), newRecord(2)];
      expect(await world.journal.append(newAppend(run, { records }))).toMatchObject({ outcome: 'appended' });
      expect(await hooks.countTaken(run.runId)).toBe(1);
      await hooks.close(run.runId, 't', 0);
      expect(await hooks.countGiven('t')).toBeUndefined();
    });

    test('waits for an event are found by what their tokens begin with, until each has its one resume', async () => {
      const { journal } = world;
      const startedBy = JSON.stringify({ kind: 'box', client: null });
      const run = await start(journal, newRun({ startedBy }));
      const wait = (token: string, kind: NewHook['kind'] = 'event') => newHook(token, { kind, detail: '[1]' });
      await addHooks(journal, run, [
        wait('event:a:2'),
        wait('event:a:1'),
        wait('event:ab:1'),
        wait('event:a:3', 'hook'),
      ]);
      const until = await journal.now();
      const list = async (more: object = {}, limit = 10, after = '') =>
        (await journal.hooks.listOpen({ scope: 'event:a:', until, ...more }, { limit, after })).map(
          ({ token }) => token,
        );
      expect(await journal.hooks.listOpen({ scope: 'event:a:', until }, { limit: 1, after: '' })).toStrictEqual([
        { token: 'event:a:1', detail: '[1]', startedBy },
      ]);
      expect(await list()).toEqual(['event:a:1', 'event:a:2']);
      expect(await list({}, 10, 'event:a:1')).toEqual(['event:a:2']);
      expect(await list({ until: until - 60_000 })).toEqual([]);
      const given = { verdict: 'received', idempotency: { key: 'k', digest: 'd' } };
      expect(await journal.hooks.resume('event:a:1', '1', given)).toMatchObject({ outcome: 'resumed' });
      expect(await journal.hooks.resume('event:a:1', '1', given)).toMatchObject({ outcome: 'repeated' });
      expect(await journal.hooks.resume('event:a:1', '2', { verdict: 'received' })).toMatchObject({
        outcome: 'already',
      });
      expect(await list()).toEqual(['event:a:2']);
      const events = await journal.hooks.listEvents(run.runId, [{ token: 'event:a:1', n: 0 }]);
      expect(events).toMatchObject({ events: [{ payload: '1' }], missing: [] });
    });

    test('a refused append makes no hook', async () => {
      const run = await start(world.journal, newRun());
      const hooks = [newHook('t')];
      expect(await addHooks(world.journal, { ...run, epoch: 0 }, hooks)).toStrictEqual({ outcome: 'fenced' });
      expect(await addHooks(world.journal, { ...run, seq: 4 }, hooks)).toStrictEqual({ outcome: 'conflict' });
      expect(await world.journal.hooks.find('t')).toBeUndefined();
    });

    test('a token another run holds is refused, and the rest of the append happens', async () => {
      const [holder, run] = [await start(world.journal, newRun()), await start(world.journal, newRun())];
      await addHooks(world.journal, holder, [newHook('t')]);
      const hooks = [newHook('t'), newHook('u')];
      const entry = newAppend(run, { records: [newRecord(0)], hooks });
      const answer = { ...APPENDED, refused: ['t'] };
      expect(await world.journal.append(entry)).toStrictEqual(answer);
      expect(await world.journal.append(entry)).toStrictEqual(answer);
      expect(await world.journal.hooks.find('t')).toMatchObject({ runId: holder.runId });
      expect(await world.journal.hooks.find('u')).toMatchObject({ runId: run.runId });
      expect(await world.journal.getRecords(run.runId)).toHaveLength(1);
    });

    test('a token is free again once its run is final', async () => {
      const [holder, run] = [await start(world.journal, newRun()), await start(world.journal, newRun())];
      await addHooks(world.journal, holder, [newHook('t')]);
      await write(world.journal, holder, 0, { status: 'completed' });
      expect(await world.journal.hooks.find('t')).toMatchObject({ runId: holder.runId, isOpen: false });
      expect(await addHooks(world.journal, run, [newHook('t')])).toStrictEqual(APPENDED);
      expect(await world.journal.hooks.find('t')).toMatchObject({ runId: run.runId, isOpen: true });
      await write(world.journal, run, 0, { status: 'failed' });
      expect(await world.journal.hooks.find('t')).toMatchObject({ runId: run.runId, isOpen: false });
    });

    test('a hook that is closed takes no resume, and its token is free while its run goes on', async () => {
      const [holder, run] = [await start(world.journal, newRun()), await start(world.journal, newRun())];
      await addHooks(world.journal, holder, [newHook('t'), newHook('u')]);
      await world.journal.hooks.close(run.runId, 't', 0);
      expect(await world.journal.hooks.find('t')).toMatchObject({ runId: holder.runId, isOpen: true });
      await world.journal.hooks.close(holder.runId, 't', 0);
      await world.journal.hooks.close(holder.runId, 't', 0);
      expect(await world.journal.hooks.resume('t', '1')).toMatchObject({ outcome: 'closed' });
      expect(await addHooks(world.journal, run, [newHook('t')])).toStrictEqual(APPENDED);
      expect(await world.journal.hooks.resume('t', '1')).toMatchObject({
        outcome: 'resumed',
        hook: { runId: run.runId },
      });
      expect(await world.journal.hooks.find('u')).toMatchObject({ isOpen: true });
    });

    test('of two runs that create one token at once, one gets it', async () => {
      const other = await world.open();
      for (let n = 0; n < 10; n++) {
        const runs = [await start(world.journal, newRun()), await start(world.journal, newRun())];
        const results = await Promise.all(
          runs.map((run, index) => addHooks(index % 2 ? other : world.journal, run, [newHook(`t${n}`)])),
        );
        const refused = results.map((result) => (result.outcome === 'appended' ? (result.refused ?? []) : 'no'));
        expect(refused).toContainEqual([]);
        expect(refused).toContainEqual([`t${n}`]);
      }
    });

    test('a hook stored again changes `many` and nothing else', async () => {
      const run = await start(world.journal, newRun());
      await addHooks(world.journal, run, [newHook('t', { call: 1, detail: '[1]' })]);
      const made = await world.journal.hooks.find('t');
      const again = [newHook('t', { call: 1, many: true, detail: '[2]' }), newHook('u')];
      expect(await addHooks(world.journal, run, again)).toStrictEqual(APPENDED);
      expect(await world.journal.hooks.find('t')).toStrictEqual({ ...made, many: true });
    });

    test('made again in a later call it takes resumes again, behind those of the one before', async () => {
      const { hooks } = world.journal;
      const run = await createWithHook(world.journal, newHook('t', { call: 1, detail: '[1]' }));
      await hooks.resume('t', '["a"]', { verdict: 'approved' });
      await addHooks(world.journal, run, [newHook('t', { call: 3, detail: '[2]', since: 1 })]);
      const again = { call: 3, detail: '[2]', since: 1, isOpen: true, verdict: null };
      expect(await hooks.find('t')).toMatchObject(again);
      // What a replay says of the earlier one changes nothing, and neither does its end.
      await addHooks(world.journal, run, [newHook('t', { call: 1, many: true })]);
      await hooks.close(run.runId, 't', 1);
      expect(await hooks.find('t')).toMatchObject({ ...again, many: false });
      expect(await hooks.resume('t', '["b"]')).toMatchObject({ outcome: 'resumed', event: { n: 1, payload: '["b"]' } });
      expect(await hooks.resume('t', '["c"]')).toMatchObject({ outcome: 'already', event: { n: 1, payload: '["b"]' } });
      const [entry] = await hooks.listEntries({ kind: 'hook', runId: run.runId }, { limit: 10 });
      expect(entry?.first).toMatchObject({ n: 1 });
    });

    test('made again after it was closed it is open, unless another run has its token by then', async () => {
      const [run, other] = [await createWithHook(world.journal, newHook('t')), await start(world.journal, newRun())];
      await world.journal.hooks.close(run.runId, 't', 0);
      expect(await addHooks(world.journal, run, [newHook('t', { call: 2 })])).toStrictEqual(APPENDED);
      expect(await world.journal.hooks.find('t')).toMatchObject({ runId: run.runId, isOpen: true });
      await world.journal.hooks.close(run.runId, 't', 2);
      await addHooks(world.journal, other, [newHook('t')]);
      const refused = await addHooks(world.journal, run, [newHook('t', { call: 4 }), newHook('u', { call: 5 })]);
      expect(refused).toStrictEqual({ ...APPENDED, refused: ['t'] });
      expect(await world.journal.hooks.find('t')).toMatchObject({ runId: other.runId, isOpen: true });
      expect(await world.journal.hooks.find('u')).toMatchObject({ runId: run.runId, isOpen: true });
    });

    test('a hook made by the append that ends its run is closed', async () => {
      const run = await start(world.journal, newRun());
      await addHooks(world.journal, run, [newHook('t')]);
      const hooks = [newHook('t', { many: true }), newHook('u')];
      await world.journal.append(newAppend(run, { hooks, patch: { status: 'completed' } }));
      for (const token of ['t', 'u']) expect(await world.journal.hooks.find(token)).toMatchObject({ isOpen: false });
    });

    test('100 runs that make hooks at once all have theirs', async () => {
      const runs = await Promise.all(Array.from({ length: 100 }, () => start(world.journal, newRun())));
      const made = await Promise.all(
        runs.map((run) => addHooks(world.journal, run, [newHook(`1${run.runId}`), newHook(`2${run.runId}`)])),
      );
      expect(made).toStrictEqual(runs.map(() => APPENDED));
      for (const { runId } of runs) expect(await listHooks(world.journal, runId)).toHaveLength(2);
    });
  });
}

export function describeResume(world: World): void {
  describe('resume', () => {
    test('the first resume is recorded, any further one is answered with it', async () => {
      const run = await createWithHook(world.journal, newHook('t'));
      const first = await world.journal.hooks.resume('t', '["yes"]');
      expect(first).toStrictEqual({
        outcome: 'resumed',
        hook: await world.journal.hooks.find('t'),
        event: { token: 't', n: 0, payload: '["yes"]', at: expect.any(Number) as number },
      });
      expect(await world.journal.hooks.resume('t', '["no"]')).toStrictEqual({ ...first, outcome: 'already' });
      const { event } = first as { event: object };
      expect(await listEvents(world.journal, run.runId)).toStrictEqual({ signals: 1, events: [event] });
    });

    test('a hook for many keeps every resume, in order', async () => {
      const run = await createWithHook(world.journal, newHook('t', { many: true }));
      for (const payload of ['a', 'b', 'c'])
        expect(await world.journal.hooks.resume('t', payload)).toMatchObject({ outcome: 'resumed' });
      const { signals, events } = await listEvents(world.journal, run.runId);
      expect(signals).toBe(3);
      expect(events.map(({ n, payload }) => [n, payload])).toStrictEqual([
        [0, 'a'],
        [1, 'b'],
        [2, 'c'],
      ]);
    });

    test('a token without a hook is undefined', async () => {
      expect(await world.journal.hooks.resume('t', '[]')).toBeUndefined();
    });

    test('a hook whose run is final is closed; a decision stays the answer', async () => {
      const run = await createWithHook(world.journal, newHook('t'), newHook('u'), newHook('v', { many: true }));
      const first = (await world.journal.hooks.resume('t', '[1]')) as { event: object };
      await world.journal.hooks.resume('v', '[1]');
      await write(world.journal, run, 0, { status: 'completed' });
      const hook = { isOpen: false };
      expect(await world.journal.hooks.resume('u', '[2]')).toMatchObject({ outcome: 'closed', hook });
      expect(await world.journal.hooks.resume('v', '[2]')).toMatchObject({ outcome: 'closed', hook });
      expect(await world.journal.hooks.resume('t', '[2]')).toMatchObject({ outcome: 'already', event: first.event });
      expect((await listEvents(world.journal, run.runId)).events).toHaveLength(2);
      expect((await read(world.journal, run.runId)).signals).toBe(2);
    });

    test('50 resumes of one token at once: one is recorded, 49 get the same event', async () => {
      const other = await world.open();
      const run = await createWithHook(world.journal, newHook('t'));
      const sent = Array.from({ length: 50 }, (_, n) =>
        (n % 2 ? other : world.journal).hooks.resume('t', JSON.stringify(n)),
      );
      const results = (await Promise.all(sent)) as Extract<ResumeResult, { event: unknown }>[];
      expect(results.filter((result) => result.outcome === 'resumed')).toHaveLength(1);
      expect(results.filter((result) => result.outcome === 'already')).toHaveLength(49);
      const { signals, events } = await listEvents(world.journal, run.runId);
      expect([signals, events.length]).toStrictEqual([1, 1]);
      for (const { event } of results) expect(event).toStrictEqual(events[0]);
    });

    test('50 resumes of a hook for many at once are all kept, numbered without a gap', async () => {
      const other = await world.open();
      const run = await createWithHook(world.journal, newHook('t', { many: true }));
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => (n % 2 ? other : world.journal).hooks.resume('t', JSON.stringify(n))),
      );
      const { signals, events } = await listEvents(world.journal, run.runId);
      expect(signals).toBe(50);
      expect(events.map((event) => event.n)).toStrictEqual(Array.from({ length: 50 }, (_, n) => n));
      expect(new Set(events.map((event) => event.payload)).size).toBe(50);
    });

    test('large payloads are read a few at a time', async () => {
      const { hooks } = world.journal;
      const run = await createWithHook(world.journal, newHook('t', { many: true }));
      const large = JSON.stringify('x'.repeat(SMALL_EVENT));
      const payloads = ['1', ...Array.from({ length: MAX_LARGE_EVENTS + 2 }, () => large), '2'];
      for (const payload of payloads) await hooks.resume('t', payload);
      const given: string[] = [];
      const counts: number[] = [];
      for (let more = ['t']; more.length > 0;) {
        const found = await hooks.listEvents(run.runId, [{ token: 't', n: given.length }]);
        given.push(...found.events.map(({ payload }) => payload));
        counts.push(found.events.length);
        more = found.more;
      }
      expect(counts).toStrictEqual([MAX_LARGE_EVENTS, payloads.length - MAX_LARGE_EVENTS]);
      expect(given).toStrictEqual(payloads);
    });

    test('a resume and the end of the run at once: recorded before it, or closed', async () => {
      const other = await world.open();
      for (let n = 0; n < 10; n++) {
        const token = `t${n}`;
        const run = await createWithHook(world.journal, newHook(token));
        const [resumed, ended] = await Promise.all([
          other.hooks.resume(token, '[1]'),
          write(world.journal, run, 1, { status: 'completed' }),
        ]);
        expect(ended).toStrictEqual(APPENDED);
        const { events } = await listEvents(world.journal, run.runId);
        expect([resumed?.outcome, events.length]).toBeOneOf([
          ['resumed', 1],
          ['closed', 0],
        ]);
      }
    });

    test('events are listed by token and number', async () => {
      const run = await createWithHook(world.journal, newHook('b', { many: true }), newHook('a'));
      for (const token of ['b', 'a', 'b']) await world.journal.hooks.resume(token, '[1]');
      const { events } = await listEvents(world.journal, run.runId);
      expect(events.map(({ token, n }) => `${token}${n}`)).toStrictEqual(['a0', 'b0', 'b1']);
      expect(await listEvents(world.journal, newRunId())).toStrictEqual({ signals: 0, events: [] });
    });

    test('events are read from where they are wanted, at most so many, and a token without a hook is named', async () => {
      const { hooks } = world.journal;
      const run = await createWithHook(world.journal, newHook('t', { many: true }), newHook('u'));
      for (let n = 0; n < MAX_EVENTS + 5; n++) await hooks.resume('t', `[${n}]`);
      const waits = ['t', 'u', 'x'].map((token) => ({ token, n: 3 }));
      const { signals, events, missing } = await hooks.listEvents(run.runId, waits);
      expect([signals, missing]).toStrictEqual([MAX_EVENTS + 5, ['x']]);
      expect(events.map(({ token, n }) => [token, n])).toStrictEqual(
        Array.from({ length: MAX_EVENTS }, (_, n) => ['t', n + 3]),
      );
      const many = Array.from({ length: 1_200 }, (_, n) => ({ token: n === 1_100 ? 't' : `x${n}`, n: 104 }));
      expect((await hooks.listEvents(run.runId, many)).events).toMatchObject([{ token: 't', n: 104 }]);
      expect(await hooks.listEvents(run.runId, [])).toMatchObject({ signals: MAX_EVENTS + 5, events: [] });
    });

    test('a token, a detail and a payload can be any string', async () => {
      const text = `\0"'\ud800 é`;
      const run = await createWithHook(world.journal, newHook(text, { detail: text }));
      expect(await world.journal.hooks.find(text)).toMatchObject({ token: text, detail: text });
      expect(await world.journal.hooks.resume(text, text)).toMatchObject({ event: { token: text, payload: text } });
      const { events } = await listEvents(world.journal, run.runId);
      expect(events).toMatchObject([{ token: text, payload: text }]);
    });

    test('a waiting run that is resumed can be claimed at once', async () => {
      const run = await createWithHook(world.journal, newHook('t'));
      await write(world.journal, run, 0, { status: 'waiting', wakeAt: null, release: true });
      expect(await world.journal.claim({ owner: 'b', leaseMs: 1_000, limit: 9 })).toStrictEqual([]);
      await world.journal.hooks.resume('t', '[1]');
      expect(await world.journal.nextWake()).toBe(0);
      expect(ids(await world.journal.claim({ owner: 'b', leaseMs: 1_000, limit: 9 }))).toStrictEqual([run.runId]);
    });
  });
}

// --- internal ---

function newHook(token: string, fields: Partial<NewHook> = {}): NewHook {
  return { token, call: 0, kind: 'hook', many: false, detail: null, since: 0, ...fields };
}

function addHooks(journal: Journal, run: RunRow, hooks: NewHook[]): ReturnType<Journal['append']> {
  return journal.append(newAppend(run, { hooks }));
}

async function createWithHook(journal: Journal, ...hooks: NewHook[]): Promise<RunRow> {
  const run = await start(journal, newRun());
  await addHooks(journal, run, hooks);
  return run;
}
