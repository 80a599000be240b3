import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import type { NewRun, OwnId } from '../../journal/starts.ts';
import { start, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRun } from './records.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export function describeOwnIds(world: World): void {
  describe('an id of its own', () => {
    test('belongs to one unfinished run: another start is refused, or joins it', async () => {
      const run = await start(world.journal, named());
      await world.ageKeys(2 * DAY_MS);
      expect(await world.journal.create(named())).toStrictEqual({ outcome: 'id_taken', start: { run } });
      expect(await world.journal.create(named({ whenOpen: 'join' }))).toStrictEqual({ outcome: 'repeated', run });
      await start(world.journal, named({ key: 'other' }));
    });

    test('is found with its run, or the start that waits', async () => {
      const run = await start(world.journal, named());
      expect(await world.journal.findByKey('id')).toMatchObject({ run });
    });

    test.each([
      ['always', 'completed', 'created'],
      ['after-failure', 'completed', 'id_used'],
      ['after-failure', 'failed', 'created'],
      ['after-failure', 'cancelled', 'created'],
      ['never', 'failed', 'id_used'],
    ] as const)('used again "%s" after a run that %s: %s', async (reuse, status, outcome) => {
      const run = await start(world.journal, named());
      await write(world.journal, run, 0, { status });
      expect(await world.journal.create(named({ reuse }))).toMatchObject({ outcome });
    });

    test('is held by a start that queues, and then by the run it becomes', async () => {
      const lock = (triggerId: string): Partial<NewRun> => ({ serial: { key: 's', triggerId, whenTaken: 'queue' } });
      const holder = await start(world.journal, newRun(lock('')));
      await world.journal.create(named({}, lock('a')));
      const taken = { outcome: 'id_taken', start: { triggerId: 'a' } };
      expect(await world.journal.create(named({}, lock('b')))).toStrictEqual(taken);
      const nextRunId = newRunId();
      await world.journal.append(newAppend(holder, { patch: { status: 'completed' }, nextRunId }));
      expect(await world.journal.create(named())).toMatchObject({ start: { run: { runId: nextRunId } } });
    });

    test('is free once its run is deleted, or its start removed', async () => {
      const run = await start(world.journal, named());
      await write(world.journal, run, 0, { status: 'completed' });
      await world.journal.deleteRun(run.runId);
      expect(await world.count('idempotency_keys')).toBe(0);
      await world.journal.create(named({ reuse: 'never' }, { timing: { triggerId: 'a', delayMs: 60_000 } }));
      await world.journal.queue.remove('a');
      expect(await world.count('idempotency_keys')).toBe(0);
      expect(await world.journal.create(named({ reuse: 'never' }))).toMatchObject({ outcome: 'created' });
    });

    test('asked for by 40 starts from two journals at once makes one run', async () => {
      const journals = [world.journal, await world.open()] as const;
      const sent = Array.from({ length: 40 }, (_, n) => journals[n % 2 ? 1 : 0].create(named()));
      const outcomes = (await Promise.all(sent)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'id_taken')).toHaveLength(39);
    });
  });

  describe('the key of a child', () => {
    test('counts for as long as the run above is kept', async () => {
      const parent = await start(world.journal, newRun());
      const child = await start(world.journal, childOf(parent.runId));
      await world.ageKeys(100 * DAY_MS);
      expect(await world.journal.create(childOf(parent.runId))).toMatchObject({ outcome: 'repeated', run: child });
      await write(world.journal, parent, 0, { status: 'completed' });
      await world.journal.deleteRun(parent.runId);
      expect(await world.count('idempotency_keys')).toBe(0);
    });

    test('starts no second child where the first was deleted, or dropped from the queue', async () => {
      const parent = await start(world.journal, newRun());
      const child = await start(world.journal, childOf(parent.runId));
      await write(world.journal, child, 0, { status: 'completed' });
      await world.journal.deleteRun(child.runId);
      const gone = { outcome: 'gone', startId: child.runId };
      expect(await world.journal.create(childOf(parent.runId))).toStrictEqual(gone);
      const other = { idempotency: { key: 'other', digest: 'd' }, timing: { triggerId: 'a', delayMs: 60_000 } };
      await world.journal.create({ ...childOf(parent.runId), ...other });
      await world.journal.queue.remove('a');
      const again = { ...childOf(parent.runId), ...other, timing: { triggerId: 'b' } };
      expect(await world.journal.create(again)).toStrictEqual({ outcome: 'gone', startId: 'a' });
    });
  });
}

// --- internal ---

function named(id: Partial<OwnId> = {}, fields: Partial<NewRun> = {}): NewRun {
  return newRun({ claim: null, ownId: { key: 'id', whenOpen: 'refuse', reuse: 'always', ...id }, ...fields });
}

function childOf(parentRunId: string): NewRun {
  return newRun({ claim: null, parentRunId, idempotency: { key: 'child', digest: 'd' } });
}
