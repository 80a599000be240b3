import { describe, expect, test } from 'vitest';
import type { Journal } from '../../journal.ts';
import type { HookEntry, HookFilter, NewHook, ResumeOptions } from '../../journal/hooks.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { start } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeEntries(world: World): void {
  describe('a resume under an idempotency key', () => {
    const keyed = (digest = 'd', key = 'k'): ResumeOptions => ({ idempotency: { key, digest } });

    test('is answered again to the same, refused with another digest, and spent to another key', async () => {
      const { hooks } = world.journal;
      await openHook(world.journal, 't');
      const first = await hooks.resume('t', '[1]', keyed());
      expect(first).toMatchObject({ outcome: 'resumed', event: { n: 0, payload: '[1]' } });
      expect(await hooks.resume('t', '[9]', keyed())).toStrictEqual({ ...first, outcome: 'repeated' });
      expect(await hooks.resume('t', '[1]', keyed('e'))).toStrictEqual({ outcome: 'idempotency_conflict' });
      expect(await hooks.resume('t', '[1]', keyed('d', 'K'))).toMatchObject({ outcome: 'already' });
      expect(await hooks.resume('t', '[1]')).toMatchObject({ outcome: 'already' });
    });

    test('is answered again where the hook takes no more', async () => {
      const { hooks } = world.journal;
      await openHook(world.journal, 't', { many: true });
      const first = await hooks.resume('t', '[1]', { ...keyed(), most: 2 });
      expect(first).toMatchObject({ outcome: 'resumed', event: { n: 0 } });
      expect(await hooks.resume('t', '[2]', { most: 2 })).toMatchObject({ outcome: 'resumed', event: { n: 1 } });
      for (const options of [{}, keyed('d', 'K')])
        expect(await hooks.resume('t', '[3]', { ...options, most: 2 })).toStrictEqual({ outcome: 'full' });
      expect(await hooks.resume('t', '[1]', { ...keyed(), most: 2 })).toStrictEqual({ ...first, outcome: 'repeated' });
      expect(await hooks.resume('t', '[3]', { most: 3 })).toMatchObject({ outcome: 'resumed', event: { n: 2 } });
      expect(await hooks.resume('t', '[4]', { most: Infinity })).toMatchObject({ outcome: 'resumed', event: { n: 3 } });
      expect(await hooks.countGiven('t')).toMatchObject({ given: 4 });
    });

    test('stays the answer once the run is final', async () => {
      const run = await openHook(world.journal, 't');
      await world.journal.hooks.resume('t', '[1]', keyed());
      await world.journal.append(newAppend({ ...run, seq: 1 }, { patch: { status: 'completed' } }));
      expect(await world.journal.hooks.resume('t', '[1]', keyed())).toMatchObject({ outcome: 'repeated' });
    });

    test('sent 50 times at once by two processes is recorded once', async () => {
      const other = await world.open();
      await openHook(world.journal, 't');
      const sent = Array.from({ length: 50 }, (_, n) =>
        (n % 2 ? other : world.journal).hooks.resume('t', '[1]', keyed()),
      );
      const outcomes = (await Promise.all(sent)).map((result) => result?.outcome);
      expect(outcomes.filter((outcome) => outcome === 'resumed')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'repeated')).toHaveLength(49);
    });

    test('of a hook for many is one resume for each key, also after others', async () => {
      const { hooks } = world.journal;
      const run = await openHook(world.journal, 't', { many: true });
      for (const key of ['a', 'b', 'a', 'c']) await hooks.resume('t', `["${key}"]`, keyed('d', key));
      const { events } = await hooks.listEvents(run.runId, [{ token: 't', n: 0 }]);
      expect(events.map(({ n, payload }) => [n, payload])).toEqual([
        [0, '["a"]'],
        [1, '["b"]'],
        [2, '["c"]'],
      ]);
    });

    test('is forgotten after 24 hours', async () => {
      const { hooks } = world.journal;
      await openHook(world.journal, 't', { many: true });
      await hooks.resume('t', '[1]', keyed());
      await world.ageResumes(24 * 60 * 60 * 1000 + 1);
      expect(await hooks.resume('t', '[2]', keyed('e'))).toMatchObject({ outcome: 'resumed', event: { n: 1 } });
    });

    test('can have any text', async () => {
      const options = keyed(`'\0`, '\0k\ud800');
      await openHook(world.journal, 't');
      await world.journal.hooks.resume('t', '[1]', options);
      expect(await world.journal.hooks.resume('t', '[1]', options)).toMatchObject({ outcome: 'repeated' });
    });
  });

  describe('entries of hooks', () => {
    const tokens = async (filter: Partial<HookFilter> = {}, limit = 10) =>
      (await world.journal.hooks.listEntries({ kind: 'approval', ...filter }, { limit })).map(({ hook }) => hook.token);

    test('are those of a kind, each with its first resume and the session of its run', async () => {
      const { hooks } = world.journal;
      const run = await openHook(world.journal, 'a', { kind: 'approval' }, { sessionId: 's' });
      await openHook(world.journal, 'b', { kind: 'hook' });
      const [open] = await hooks.listEntries({ kind: 'approval' }, { limit: 10 });
      expect(open).toStrictEqual({ hook: await hooks.find('a'), first: undefined, sessionId: 's' });
      const { event } = (await hooks.resume('a', '[1]', { verdict: 'approved' })) as { event: object };
      expect(await hooks.listEntries({ kind: 'approval', runId: run.runId, token: 'a' }, { limit: 1 })).toStrictEqual([
        { hook: { ...open?.hook, verdict: 'approved' }, first: event, sessionId: 's' },
      ]);
    });

    test('are read with what stands for a large detail in lists, and whole', async () => {
      const { hooks } = world.journal;
      const [detail, brief] = [JSON.stringify(['x'.repeat(1_000_000)]), '["x"]'];
      await openHook(world.journal, 'large', { kind: 'approval', detail, brief });
      await openHook(world.journal, 'small', { kind: 'approval', detail: '["y"]' });
      const page = [{ kind: 'approval' }, { limit: 10 }] as const;
      const detailsOf = (entries: HookEntry[]) => entries.map(({ hook }) => [hook.token, hook.detail]);
      expect(detailsOf(await hooks.listBriefEntries(...page)).toSorted()).toEqual([
        ['large', brief],
        ['small', '["y"]'],
      ]);
      expect(detailsOf(await hooks.listEntries(...page)).toSorted()).toEqual([
        ['large', detail],
        ['small', '["y"]'],
      ]);
      expect(await hooks.find('large')).toMatchObject({ detail });
      expect(await hooks.find('large')).not.toHaveProperty('brief');
    });

    test('are read with what stands for the detail of a hook that was made again', async () => {
      const { hooks } = world.journal;
      const run = await openHook(world.journal, 't', { kind: 'approval', detail: '["a"]', brief: '["b"]' });
      const again = { token: 't', call: 4, kind: 'approval', many: false, detail: '["c"]', since: 0 } as const;
      await world.journal.append(newAppend({ ...run, seq: 1 }, { records: [newRecord(4)], hooks: [again] }));
      const [entry] = await hooks.listBriefEntries({ kind: 'approval' }, { limit: 1 });
      expect(entry?.hook).toMatchObject({ call: 4, detail: '["c"]' });
    });

    test('are filtered by whether they are pending, by verdict, and whether they were cancelled', async () => {
      const { journal } = world;
      for (const token of ['a', 'b', 'c']) await openHook(journal, token, { kind: 'approval' });
      const ended = await openHook(journal, 'd', { kind: 'approval' });
      await journal.hooks.resume('b', '[1]', { verdict: 'approved' });
      await journal.hooks.resume('c', '[1]', { verdict: 'rejected' });
      await journal.hooks.resume('c', '[1]', { verdict: 'approved' });
      await journal.cancel(ended.runId, '[1]', () => 'none');
      expect((await tokens({ isPending: true })).toSorted()).toEqual(['a']);
      expect((await tokens({ isPending: false })).toSorted()).toEqual(['b', 'c', 'd']);
      expect(await tokens({ verdict: 'approved' })).toEqual(['b']);
      expect(await tokens({ verdict: 'rejected' })).toEqual(['c']);
      expect(await tokens({ isCancelled: true })).toEqual(['d']);
    });

    test('are read page by page, newest first, and one that comes meanwhile moves none', async () => {
      const { journal } = world;
      for (let n = 0; n < 7; n++) await openHook(journal, `t${n}`, { kind: 'approval' });
      const all = await tokens();
      const seen: string[] = [];
      let after;
      for (let page = 0; page < 4; page++) {
        const entries = await journal.hooks.listEntries(
          { kind: 'approval' },
          { limit: 2, ...(after ? { after } : {}) },
        );
        seen.push(...entries.map(({ hook }) => hook.token));
        after = entries.at(-1)?.hook;
        await openHook(journal, `later${page}`, { kind: 'approval' });
      }
      expect(seen).toEqual(all);
    });

    test('are found by whoever had their run started', async () => {
      const startedBy = (client: string | null, id?: string) => ({
        startedBy: JSON.stringify({ kind: 'user', client, user: id === undefined ? null : { id } }),
      });
      const { journal } = world;
      await openHook(journal, 'shop', { kind: 'approval' }, startedBy('shop'));
      await openHook(journal, 'ada', { kind: 'approval' }, startedBy('shop', 'ada "1"'));
      await openHook(journal, 'other', { kind: 'approval' }, startedBy('desk', 'ada "1"'));
      await openHook(journal, 'box', { kind: 'approval' });
      const tokensOf = async (filter: Pick<HookFilter, 'client' | 'user'>) =>
        (await journal.hooks.listEntries({ kind: 'approval', ...filter }, { limit: 10 })).map(({ hook }) => hook.token);
      expect((await tokensOf({ client: 'shop' })).toSorted()).toEqual(['ada', 'shop']);
      expect((await tokensOf({ user: 'ada "1"' })).toSorted()).toEqual(['ada', 'other']);
      expect(await tokensOf({ client: 'shop', user: 'ada "1"' })).toEqual(['ada']);
      expect(await tokensOf({ client: 'none' })).toEqual([]);
    });
  });
}

// --- internal ---

async function openHook(
  journal: Journal,
  token: string,
  { kind = 'hook', many = false, detail = null, brief }: Partial<NewHook> = {},
  fields: Partial<NewRun> = {},
): Promise<RunRow> {
  const run = await start(journal, newRun(fields));
  const hooks = [{ token, call: 0, kind, many, detail, since: 0, ...(brief === undefined ? {} : { brief }) }];
  await journal.append(newAppend(run, { records: [newRecord(0)], hooks }));
  return run;
}
