import { describe, expect, test } from 'vitest';
import { NOTICE_TOPICS } from '../../journal/notices.ts';
import type { Notice } from '../../journal/notices.ts';
import type { RunRow } from '../../journal/run.ts';
import { newAppend, newRun } from './records.ts';
import { claim, start, write } from './world.ts';
import type { World } from './world.ts';

export function describeNotices(world: World): void {
  const store = () => world.journal.notices;
  const shownOf = (notices: Notice[]) => notices.map(({ topic, runId, mark }) => [topic, runId, mark]);
  const one = (deliveryId: string, receiver = 'ops') => ({
    deliveryId,
    receiver,
    type: 'run.failed',
    runId: 'r',
    body: '{"a":"\u0000"}',
  });

  describe('notices', () => {
    test('a run that fails or is blocked and an approval leave one, while somebody listens', async () => {
      const { journal } = world;
      const before = await start(journal, newRun());
      await write(journal, before, 0, { status: 'failed' });
      await store().listen(NOTICE_TOPICS);
      const failed = await start(journal, newRun());
      await write(journal, failed, 0, { status: 'failed' });
      const done = await start(journal, newRun());
      await write(journal, done, 0, { status: 'completed' });
      const below = await start(journal, newRun({ parentRunId: before.runId }));
      await write(journal, below, 0, { status: 'failed' });
      const blocked = await start(journal, newRun());
      await write(journal, blocked, 0, { status: 'blocked', release: true });
      const asking = await start(journal, newRun());
      const hook = { call: 0, many: false, detail: null, since: 0 };
      const hooks = [
        { token: 'ask', kind: 'approval', ...hook } as const,
        { token: 'wait', kind: 'hook', ...hook } as const,
      ];
      await journal.append(newAppend(asking, { hooks }));
      const listed = await store().listNotices(10);
      expect(shownOf(listed)).toEqual([
        ['run.failed', failed.runId, String(failed.epoch)],
        ['run.blocked', blocked.runId, String(blocked.epoch)],
        ['approval.asked', asking.runId, 'ask'],
      ]);
      expect(Math.abs((listed[0]?.at ?? 0) - (await journal.now()))).toBeLessThan(60_000);
      await store().listen(['approval.asked']);
      expect(shownOf(await store().listNotices(10))).toEqual([['approval.asked', asking.runId, 'ask']]);
      await store().listen([]);
      expect(await store().look()).toMatchObject({ hasNotices: false, nextAt: null });
    });

    test('a run that waits for its code leaves one, however often it is tried, until it has waited for something else', async () => {
      const { journal } = world;
      await store().listen(NOTICE_TOPICS);
      let run = await start(journal, newRun());
      const park = async (waitingFor: object) => {
        await write(journal, run, 0, {
          status: 'waiting',
          waitingFor: JSON.stringify(waitingFor),
          wakeAt: 1,
          release: true,
        });
        [run] = (await claim(journal)) as [RunRow];
        return (await store().listNotices(10)).length;
      };
      expect([
        await park({ type: 'code', message: 'once' }),
        await park({ type: 'code', code: 'code_unavailable', message: 'thrice' }),
        await park({ type: 'code', code: 'code_unavailable', message: 'again' }),
        await park({ type: 'code', code: 'code_not_kept', message: 'gone' }),
        await park({ type: 'hook', step: '0' }),
        await park({ type: 'code', code: 'code_not_kept', message: 'gone' }),
      ]).toEqual([0, 1, 1, 1, 1, 2]);
      expect((await store().listNotices(10)).map(({ topic, runId }) => [topic, runId])).toEqual([
        ['run.waiting_for_code', run.runId],
        ['run.waiting_for_code', run.runId],
      ]);
    });

    test('become deliveries in one commit, and the same ones only once', async () => {
      const { journal } = world;
      await store().listen(NOTICE_TOPICS);
      await write(journal, await start(journal, newRun()), 0, { status: 'failed' });
      const listed = await store().listNotices(10);
      await store().deliver(listed, [one('d1'), one('d2', 'other')]);
      await store().deliver(listed, [one('d1')]);
      expect(await store().listNotices(10)).toEqual([]);
      expect(await store().countPending()).toEqual(
        expect.arrayContaining([
          { receiver: 'ops', count: 1 },
          { receiver: 'other', count: 1 },
        ]),
      );
    });
  });

  describe('deliveries', () => {
    test('are taken by one, each with its attempt, and are over once they are settled', async () => {
      await store().deliver([], [one('d1'), one('d2'), one('d3', 'other')]);
      const other = (await world.open()).notices;
      const [first, second] = await Promise.all([store().takeDue('ops', 1, 60_000), other.takeDue('ops', 1, 60_000)]);
      const taken = [...first, ...second, ...(await other.takeDue('ops', 9, 60_000))];
      expect(taken.map(({ deliveryId, attempts }) => [deliveryId, attempts]).toSorted()).toEqual([
        ['d1', 1],
        ['d2', 1],
      ]);
      const [d1, d2] = taken as [(typeof taken)[0], (typeof taken)[0]];
      expect(d1).toMatchObject({ body: '{"a":"\u0000"}', state: 'pending', lastError: null });
      await store().settle(d1, { state: 'delivered', nextAt: null, error: null });
      await store().settle(d2, { state: 'pending', nextAt: (await world.journal.now()) - 1, error: '503' });
      const [again] = await store().takeDue('ops', 9, 60_000);
      expect(again).toMatchObject({ deliveryId: d2.deliveryId, attempts: 2, lastError: '503' });
      expect(await store().settle(d2, { state: 'failed', nextAt: null, error: 'late' })).toBe(false);
      await store().release(again as never);
      expect((await store().find(d2.deliveryId))?.attempts).toBe(1);
      expect((await store().list({ state: 'delivered' }, { limit: 9 })).map(({ deliveryId }) => deliveryId)).toEqual([
        d1.deliveryId,
      ]);
      expect(await store().redeliver(d1.deliveryId)).toMatchObject({ state: 'pending', attempts: 0 });
      expect(await store().redeliver('none')).toBeUndefined();
    });

    test('are listed newest first by receiver and run, and forgotten by age', async () => {
      await store().deliver([], [one('d1'), one('d2', 'other'), one('d3')]);
      const idsOf = async (...given: Parameters<ReturnType<typeof store>['list']>) =>
        (await store().list(...given)).map(({ deliveryId }) => deliveryId);
      expect(await idsOf({ receiver: 'ops' }, { limit: 9 })).toEqual(['d3', 'd1']);
      const [newest] = await store().list({ runId: 'r' }, { limit: 1 });
      expect(await idsOf({}, { limit: 9, before: newest?.deliveryNo ?? 0 })).toEqual(['d2', 'd1']);
      await store().forgetBefore((await world.journal.now()) + 1);
      expect(await idsOf({}, { limit: 9 })).toEqual([]);
    });

    test('a receiver counts its failures in a row until one delivery succeeds', async () => {
      await store().noteFailure('ops', '500', null);
      await store().noteFailure('ops', '503', 7);
      expect(await store().listFailing()).toEqual([
        { receiver: 'ops', failures: 2, since: expect.any(Number) as number, pausedUntil: 7, lastError: '503' },
      ]);
      await store().noteSuccess('ops');
      expect(await store().listFailing()).toEqual([]);
    });
  });
}
