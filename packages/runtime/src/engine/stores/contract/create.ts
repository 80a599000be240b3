import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import { NO_TOKENS } from '../../journal/run.ts';
import { QUEUED, ids, start, write } from './world.ts';
import type { World } from './world.ts';
import { newRun } from './records.ts';

export function describeCreate(world: World): void {
  describe('create', () => {
    test('a created run can be read', async () => {
      const before = await world.journal.now();
      const given = newRun({ kind: 'agent', sessionId: 's1', parentRunId: 'p1', retryOf: 'r1', trigger: 'chat' });
      const run = await start(world.journal, given);
      const { claim: _, durability: __, ...fields } = given;
      expect(run).toStrictEqual({
        ...fields,
        ...NO_TOKENS,
        seed: null,
        signals: 0,
        crashCount: 0,
        crashSeq: null,
        mark: null,
        markEpoch: null,
        continuedFrom: null,
        continuedTo: null,
        chainId: null,
        movedFrom: null,
        movedAt: null,
        pausedAt: null,
        cancel: null,
        deadline: null,
        timeoutMs: null,
        closePolicy: null,
        closesChildren: null,
        state: null,
        triggerId: null,
        serialKey: null,
        attributes: null,
        startedBy: null,
        status: 'running',
        seq: 0,
        epoch: 1,
        owner: 'a',
        leaseUntil: run.createdAt + 30_000,
        wakeAt: null,
        waitingFor: null,
        output: null,
        error: null,
        createdAt: expect.any(Number) as number,
        startedAt: run.createdAt,
        endedAt: null,
      });
      expect(run.createdAt).toBeGreaterThanOrEqual(before);
      expect(run.createdAt).toBeLessThanOrEqual(await world.journal.now());
      expect(await world.journal.getRun(run.runId)).toStrictEqual(run);
      expect(await world.journal.getRecords(run.runId)).toStrictEqual([]);
    });

    test('a run created without a claim is queued, at epoch 0, unowned and not started', async () => {
      const run = await start(world.journal, newRun(QUEUED));
      expect(run).toMatchObject({ status: 'queued', epoch: 0, owner: null, leaseUntil: null, startedAt: null });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(run);
    });

    test('a second create with the same run id answers the stored run and changes nothing', async () => {
      const first = await start(world.journal, newRun());
      await write(world.journal, first, 1);
      const second = await start(world.journal, newRun({ runId: first.runId, input: '[2]', claim: null }));
      expect(second).toStrictEqual({ ...first, seq: 1 });
      expect(await world.journal.getRun(first.runId)).toStrictEqual(second);
    });

    test('two creates with the same run id at once answer the same run', async () => {
      const runId = newRunId();
      const [one, two] = await Promise.all([
        start(world.journal, newRun({ runId, input: '[1]' })),
        start(world.journal, newRun({ runId, input: '[2]' })),
      ]);
      expect(two).toStrictEqual(one);
    });

    test('500 runs created at once all exist', async () => {
      const runs = await Promise.all(Array.from({ length: 500 }, () => start(world.journal, newRun())));
      const listed = await world.journal.listRuns({}, { limit: 1_000 });
      expect(ids(listed).sort()).toStrictEqual(ids(runs).sort());
    });
  });
}
