import { describe, expect, test } from 'vitest';
import { newRunId, toTraceId } from '../../ids.ts';
import type { Journal } from '../../journal.ts';
import type { QueuePlace } from '../../journal/queue.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { APPENDED, claim, ids, read, start, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeSerial(world: World): void {
  describe('serial', () => {
    test('the first run has the lock, the next start queues', async () => {
      const run = await start(world.journal, serial('t0', { claim: { owner: 'a', leaseMs: 1_000 } }));
      expect(run).toMatchObject({ serialKey: 's', triggerId: null, status: 'running' });
      expect(await world.journal.create(serial('t1'))).toStrictEqual({ outcome: 'queued', triggerId: 't1' });
      expect(await world.journal.queue.list({}, { limit: 10 })).toStrictEqual([
        {
          triggerId: 't1',
          serialKey: 's',
          name: 'refund',
          trigger: 'api',
          input: '[1]',
          parentRunId: null,
          attributes: null,
          startedBy: null,
          limit: 1,
          priority: 0,
          readyAt: null,
          waitsFor: 'lock',
          createdAt: expect.any(Number) as number,
          queueNo: expect.any(Number) as number,
        },
      ]);
      expect(await world.journal.listRuns({}, { limit: 10 })).toHaveLength(1);
    });

    test('starts are found by the beginning of their ids: those that wait, and the runs of those that do no more', async () => {
      const holder = await start(world.journal, serial('t0'));
      for (const id of ['t10', 't11', 't2', 'T1']) await world.journal.create(serial(id));
      const find = async (prefix: string, limit = 10) =>
        (await world.journal.queue.listByTrigger(prefix, limit)).map(({ triggerId, runId }) => [triggerId, runId]);
      await end(world.journal, holder);
      const [promoted] = await world.journal.listRuns({}, { limit: 1 });
      const waits = (id: string) => [id, null];
      const runs = ['t10', promoted?.runId];
      expect(await find('t1')).toEqual([waits('t11'), runs]);
      expect(await find('t1', 1)).toEqual([waits('t11')]);
      expect(await find('t3')).toEqual([]);
      expect(await find('')).toEqual([waits('t2'), waits('t11'), runs, waits('T1')]);
    });

    test('a start that is not to wait is refused, with the holder of the lock', async () => {
      const holder = await start(world.journal, serial('t0'));
      const given = serial('t1', { serial: { key: 's', triggerId: 't1', whenTaken: 'refuse' } });
      expect(await world.journal.create(given)).toStrictEqual({ outcome: 'refused', holder });
      expect(await world.journal.queue.find('t1')).toBeUndefined();
      expect(await world.journal.queue.findHolder('s')).toStrictEqual(holder);
      await end(world.journal, holder);
      expect(await world.journal.queue.findHolder('s')).toBeUndefined();
      expect(await world.journal.create(given)).toMatchObject({ outcome: 'created' });
    });

    test('of starts that are not to wait, sent at once, each begins whose lock is free, and the others are refused', async () => {
      const lock = (key: string, triggerId: string): Partial<NewRun> => ({
        serial: { key, triggerId, whenTaken: 'refuse' },
      });
      const keys = Array.from({ length: 8 }, (_, n) => `session ${n}`);
      const held = await start(world.journal, serial('', lock('session 3', 'held')));
      const runs = [...keys, 'session 5'].map((key, n) => serial('', lock(key, `t${n}`)));
      const answers = await Promise.all(runs.map((run) => world.journal.create(run)));
      const at = (key: string) => answers[keys.indexOf(key)];
      expect(at('session 3')).toStrictEqual({ outcome: 'refused', holder: held });
      expect(answers[8]).toMatchObject({ outcome: 'refused', holder: { runId: runs[5]?.runId } });
      for (const [n, key] of keys.entries()) {
        if (key === 'session 3') continue;
        expect(at(key)).toMatchObject({ outcome: 'created', run: { runId: runs[n]?.runId } });
        const found = await world.journal.getRun(String(runs[n]?.runId));
        expect(answers[n]).toStrictEqual({ outcome: 'created', run: found });
        expect(await world.journal.queue.findHolder(key)).toStrictEqual(found);
      }
      // The same start again, as after an answer that was lost.
      expect(await Promise.all(runs.map((run) => world.journal.create(run)))).toStrictEqual(answers);
      await end(world.journal, held);
      const [late, , other] = await Promise.all([
        world.journal.create(serial('', lock('session 3', 'late'))),
        world.journal.create(serial('', lock('session 4', 'taken'))),
        world.journal.create(serial('', lock('session 9', 'other'))),
      ]);
      expect([late.outcome, other.outcome]).toEqual(['created', 'created']);
    });

    test('another key is another lock', async () => {
      await start(world.journal, serial('t0'));
      await start(world.journal, serial('t1', { serial: { key: 'S', triggerId: 't1', whenTaken: 'queue' } }));
    });

    test.each(['completed', 'failed', 'cancelled'] as const)(
      '%s gives the lock to the first in the queue',
      async (status) => {
        const holder = await start(world.journal, serial('t0'));
        const fields: Partial<NewRun> = {
          kind: 'workflow',
          name: 'n',
          trigger: 'schedule',
          input: '[7]',
          parentRunId: 'p',
          sessionId: 'x',
          retryOf: 'r',
          seed: 'seed',
          attributes: '{"svc.a":"b"}',
          startedBy: '{"kind":"key"}',
          codeHash: 'h',
        };
        await world.journal.create(serial('t1', fields));
        await world.journal.create(serial('t2'));
        const nextRunId = newRunId();
        const entry = newAppend(holder, { records: [newRecord(0)], patch: { status }, nextRunId });
        const result = await world.journal.append(entry);
        const promoted = await read(world.journal, nextRunId);
        expect(result).toStrictEqual({ ...APPENDED, promoted });
        expect(promoted).toMatchObject({
          ...fields,
          traceId: toTraceId(nextRunId),
          triggerId: 't1',
          serialKey: 's',
          status: 'queued',
          epoch: 0,
          seq: 0,
          owner: null,
          startedAt: null,
        });
        expect(await world.journal.append(entry)).toStrictEqual({ ...APPENDED, promoted });
        expect(await triggers(world.journal)).toStrictEqual(['t2']);
      },
    );

    test('a queued start that begins with records keeps them', async () => {
      const holder = await start(world.journal, serial('t0'));
      const records = [newRecord(0, { output: '\0\ud800"' }), newRecord(1)];
      await world.journal.create(serial('t1', { records }));
      const nextRunId = await end(world.journal, holder);
      expect(await world.journal.getRecords(nextRunId)).toStrictEqual(records);
      expect(await read(world.journal, nextRunId)).toMatchObject({ seq: 2 });
    });

    test('an end that names no next run leaves the queue, and the next claim passes the lock on', async () => {
      const holder = await start(world.journal, serial('t0', { claim: { owner: 'a', leaseMs: 30_000 } }));
      for (const id of ['t1', 't2']) await world.journal.create(serial(id));
      expect(await write(world.journal, holder, 0, { status: 'completed' })).toStrictEqual(APPENDED);
      expect(await triggers(world.journal)).toStrictEqual(['t1', 't2']);
      const [taken, ...more] = await claim(world.journal);
      expect(taken).toMatchObject({ triggerId: 't1', status: 'running', epoch: 1 });
      expect(more).toStrictEqual([]);
      expect(await claim(world.journal)).toStrictEqual([]);
      expect(await triggers(world.journal)).toStrictEqual(['t2']);
    });

    test('a claim passes on the free locks of many keys, each to its first start', async () => {
      for (const key of ['x', 'y', 'z']) {
        const lock = (triggerId: string): Partial<NewRun> => ({ serial: { key, triggerId, whenTaken: 'queue' } });
        const holder = await start(world.journal, serial('', lock('')));
        for (const n of [1, 2]) await world.journal.create(serial('', lock(key + String(n))));
        if (key !== 'y') await write(world.journal, holder, 0, { status: 'completed' });
      }
      const taken = await claim(world.journal);
      expect(taken.map((run) => run.triggerId)).toStrictEqual([null, 'x1', 'z1']);
      expect(await triggers(world.journal)).toStrictEqual(['x2', 'y1', 'y2', 'z2']);
    });

    test('the queue is read page by page: by priority, then by turn, and those with a time last', async () => {
      await start(world.journal, serial('t0'));
      for (const [id, priority] of [
        ['low', -1],
        ['a', 0],
        ['b', 0],
        ['high', 7],
      ] as const)
        await world.journal.create(serial(id, { timing: { triggerId: id, priority } }));
      for (const delayMs of [90_000, 60_000])
        await world.journal.create(newRun({ timing: { triggerId: `in ${delayMs}`, delayMs } }));
      const whole = await triggers(world.journal);
      expect(whole).toStrictEqual(['high', 'a', 'b', 'low', 'in 60000', 'in 90000']);
      const seen: string[] = [];
      for (let after: QueuePlace | undefined; ;) {
        const page = await world.journal.queue.list({}, { limit: 2, ...(after ? { after } : {}) });
        seen.push(...page.map(({ triggerId }) => triggerId));
        after = page.at(-1);
        if (!after) break;
      }
      expect(seen).toStrictEqual(whole);
    });

    test('a start does not overtake those that wait for a free lock', async () => {
      const holder = await start(world.journal, serial('t0'));
      await world.journal.create(serial('t1'));
      await write(world.journal, holder, 0, { status: 'completed' });
      expect(await world.journal.create(serial('t2'))).toMatchObject({ outcome: 'queued' });
      expect(await world.journal.queue.find('t1')).toMatchObject({ run: { triggerId: 't1', status: 'queued' } });
      expect(await triggers(world.journal)).toStrictEqual(['t2']);
    });

    test('a start repeated with its trigger id queues once, also after it became a run', async () => {
      const holder = await start(world.journal, serial('t0'));
      const queued = { outcome: 'queued', triggerId: 't1' };
      const given = serial('t1');
      expect(await world.journal.create(given)).toStrictEqual(queued);
      expect(await world.journal.create(given)).toStrictEqual(queued);
      expect(await triggers(world.journal)).toStrictEqual(['t1']);
      await end(world.journal, holder);
      expect(await world.journal.create(given)).toStrictEqual(queued);
      expect(await triggers(world.journal)).toStrictEqual([]);
    });

    test('find answers the queued start, then the run it became', async () => {
      const holder = await start(world.journal, serial('t0'));
      await world.journal.create(serial('t1'));
      const [queued] = await world.journal.queue.list({}, { limit: 1 });
      expect(await world.journal.queue.find('t1')).toStrictEqual({ queued });
      const nextRunId = await end(world.journal, holder);
      expect(await world.journal.queue.find('t1')).toStrictEqual({ run: await read(world.journal, nextRunId) });
      expect(await world.journal.queue.find('t9')).toBeUndefined();
    });

    test('a removed start does not begin', async () => {
      const holder = await start(world.journal, serial('t0'));
      for (const id of ['t1', 't2']) await world.journal.create(serial(id));
      expect(await world.journal.queue.remove('t1')).toBe(true);
      expect(await world.journal.queue.remove('t1')).toBe(false);
      const nextRunId = await end(world.journal, holder);
      expect(await read(world.journal, nextRunId)).toMatchObject({ triggerId: 't2' });
      expect(await world.journal.queue.remove('t2')).toBe(false);
    });

    test('the queue is listed in order, by name, page by page', async () => {
      await start(world.journal, serial('t0'));
      for (const [id, name] of [
        ['t1', 'a'],
        ['t2', 'b'],
        ['t3', 'a'],
      ] as const)
        await world.journal.create(serial(id, { name }));
      expect(await triggers(world.journal)).toStrictEqual(['t1', 't2', 't3']);
      expect(await triggers(world.journal, { name: 'a' })).toStrictEqual(['t1', 't3']);
      expect(await triggers(world.journal, {}, 2)).toStrictEqual(['t1', 't2']);
    });

    test('a key can be any string', async () => {
      const key = `\0s'\ud800`;
      const lock = (triggerId: string): NewRun => serial('', { serial: { key, triggerId, whenTaken: 'queue' } });
      const holder = await start(world.journal, lock('t0'));
      expect(holder.serialKey).toBe(key);
      await world.journal.create(lock('\0t1'));
      const nextRunId = await end(world.journal, holder);
      expect(await read(world.journal, nextRunId)).toMatchObject({ serialKey: key, triggerId: '\0t1' });
    });

    test('100 starts from two journals, with ends between them: in order, never two at once, none lost', async () => {
      const journals = [world.journal, await world.open()] as const;
      const queued: Sent[] = [];
      const begun: string[] = [];
      let sent = 0;
      let tick = 0;
      const starting = journals.map(async (journal) => {
        while (sent < 100) {
          const triggerId = `t${sent++}`;
          const sentAt = tick++;
          const { outcome } = await journal.create(serial(triggerId));
          expect(outcome).toBeOneOf(['created', 'queued']);
          if (outcome === 'queued') queued.push({ triggerId, sentAt, answeredAt: tick++ });
        }
      });
      const ending = journals.map(async (journal, index) => {
        for (let idle = 0; idle < 20;) {
          // A claim may be answered without a turn of the event loop, which a commit needs.
          await new Promise(setImmediate);
          const [holder, ...more] = await claim(journal, { owner: `o${index}`, limit: 9 });
          expect(more).toStrictEqual([]);
          idle = holder || sent < 100 ? 0 : idle + 1;
          if (!holder) continue;
          expect(ids(await listUnfinished(journal))).toStrictEqual([holder.runId]);
          if (holder.triggerId !== null) begun.push(holder.triggerId);
          // Every third end leaves the lock to be found by a claim, as a crash would.
          const next = begun.length % 3 ? { nextRunId: newRunId() } : {};
          const entry = newAppend(holder, { records: [newRecord(0)], patch: { status: 'completed' }, ...next });
          expect(await journal.append(entry)).toMatchObject({ outcome: 'appended' });
        }
      });
      await Promise.all([...starting, ...ending]);
      expect(await triggers(world.journal)).toStrictEqual([]);
      expect(begun.toSorted()).toStrictEqual(queued.map((each) => each.triggerId).toSorted());
      expect(queued.length).toBeGreaterThan(20);
      expect(await world.journal.listRuns({}, { limit: 300 })).toHaveLength(100);
      const place = new Map(begun.map((triggerId, index) => [triggerId, index]));
      for (const before of queued) {
        const after = queued.filter((later) => later.sentAt > before.answeredAt);
        const overtaking = after.filter(
          (later) => Number(place.get(later.triggerId)) < Number(place.get(before.triggerId)),
        );
        expect(overtaking).toStrictEqual([]);
      }
    });
  });
}

// --- internal ---

/** A start that queued, with the moments it was sent and answered, as counted by the test. */
interface Sent {
  triggerId: string;
  sentAt: number;
  answeredAt: number;
}

async function listUnfinished(journal: Journal): Promise<RunRow[]> {
  const statuses = ['queued', 'running'] as const;
  return (await Promise.all(statuses.map((status) => journal.listRuns({ status }, { limit: 10 })))).flat();
}

function serial(triggerId: string, fields: Partial<NewRun> = {}): NewRun {
  return newRun({ claim: null, serial: { key: 's', triggerId, whenTaken: 'queue' }, ...fields });
}

/** Ends the run; answers the id its successor has, should there be one. */
async function end(journal: Journal, run: RunRow): Promise<string> {
  const nextRunId = newRunId();
  const entry = newAppend(run, { patch: { status: 'completed' }, nextRunId });
  expect(await journal.append(entry)).toMatchObject({ outcome: 'appended' });
  return nextRunId;
}

async function triggers(journal: Journal, filter: { name?: string } = {}, limit = 300): Promise<string[]> {
  return (await journal.queue.list(filter, { limit })).map((queued) => queued.triggerId);
}
