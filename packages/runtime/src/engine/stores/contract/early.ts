import { describe, expect, test } from 'vitest';
import { newAppend, newRun } from './records.ts';
import { start } from './world.ts';
import type { World } from './world.ts';

export function describeEarly(world: World): void {
  describe('early resumes', () => {
    const store = () => world.journal.early;
    const keep = (earlyId: string, token = 't', how: object = {}) =>
      store().keep(
        { earlyId, token, payload: `["${earlyId}"]`, idempotencyKey: null },
        { ms: 60_000, mostOfToken: 2, most: 3, ...how },
      );

    test('are kept once each, so many of a token and in all', async () => {
      expect(await keep('a')).toMatchObject({ outcome: 'kept', resume: { token: 't', payload: '["a"]' } });
      expect(await keep('b')).toMatchObject({ outcome: 'kept' });
      expect(await keep('c')).toEqual({ outcome: 'full' });
      expect(await keep('a')).toMatchObject({ outcome: 'kept' });
      expect(await keep('d', 'u')).toMatchObject({ outcome: 'kept' });
      expect(await keep('e', 'v')).toEqual({ outcome: 'full' });
      const listed = await store().list({}, { limit: 9 });
      expect(listed.map(({ earlyId }) => earlyId)).toEqual(['a', 'b', 'd']);
      expect(await store().list({ token: 't' }, { limit: 9, after: listed[0]?.earlyNo ?? 0 })).toHaveLength(1);
    });

    test('are ready once their hook is open, the first of each token, those not tried before others', async () => {
      for (const [id, token] of [
        ['a', 't'],
        ['b', 't'],
        ['c', 'u'],
      ] as const)
        await keep(id, token);
      expect(await store().listReady(9)).toEqual([]);
      const run = await start(world.journal, newRun());
      const hook = { call: 0, kind: 'hook', many: false, detail: null, since: 0 } as const;
      await world.journal.append(
        newAppend(run, {
          hooks: [
            { ...hook, token: 't' },
            { ...hook, token: 'u' },
          ],
        }),
      );
      const ready = async () => (await store().listReady(9)).map(({ earlyId }) => earlyId);
      expect(await ready()).toEqual(['a', 'c']);
      const [first] = await store().listReady(1);
      await store().noteTried(first?.earlyNo ?? 0);
      expect(await ready()).toEqual(['c', 'a']);
      expect([await store().remove(first?.earlyNo ?? 0), await store().remove(first?.earlyNo ?? 0)]).toEqual([
        true,
        false,
      ]);
      expect(await ready()).toEqual(['b', 'c']);
    });

    test('are forgotten when their time is up', async () => {
      await keep('a', 't', { ms: 0 });
      expect(await store().listReady(9)).toEqual([]);
      expect(await store().forgetExpired()).toBe(false);
      await keep('b');
      expect(await store().forgetExpired()).toBe(true);
    });
  });
}
