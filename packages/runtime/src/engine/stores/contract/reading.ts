import { describe, expect, test } from 'vitest';
import { newRunId } from '../../ids.ts';
import type { RunRow } from '../../journal/run.ts';
import { APPENDED, QUEUED, claim, createWaiting, ids, read, start, until, write } from './world.ts';
import type { World } from './world.ts';
import { newAppend, newRecord, newRun } from './records.ts';

export function describeLeases(world: World): void {
  describe('leases and wakes', () => {
    test('renew extends the lease of every run of the owner, and of no other', async () => {
      const mine = await Promise.all([1, 2].map(() => start(world.journal, newRun())));
      const theirs = await start(world.journal, newRun({ claim: { owner: 'b', leaseMs: 30_000 } }));
      const before = await world.journal.now();
      await world.journal.renew('a', 90_000);
      for (const run of mine)
        expect((await read(world.journal, run.runId)).leaseUntil).toBeGreaterThanOrEqual(before + 90_000);
      expect(await world.journal.getRun(theirs.runId)).toStrictEqual(theirs);
    });

    test('renew while the same runs are appended to reaches all of them', async () => {
      const runs = await Promise.all(Array.from({ length: 100 }, () => start(world.journal, newRun())));
      const appends = runs.flatMap((run) => [0, 1, 2].map((seq) => write(world.journal, { ...run, seq }, 1)));
      await Promise.all([...appends, world.journal.renew('a', 90_000), world.journal.renew('a', 90_000)]);
      for (const run of runs) {
        const { leaseUntil } = await read(world.journal, run.runId);
        expect(leaseUntil).toBeGreaterThan(run.createdAt + 80_000);
      }
    });

    test('renew does not change the epoch or the status', async () => {
      const run = await start(world.journal, newRun());
      await world.journal.renew('a', 30_000);
      const { leaseUntil } = await read(world.journal, run.runId);
      expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, leaseUntil });
    });

    test('the records of some calls are read, all that a call has, in their order', async () => {
      const run = await start(world.journal, newRun());
      const calls = [0, 2, 1, 0, 3, 2, 5];
      const records = calls.map((call, seq) => ({ ...newRecord(seq), call }));
      await world.journal.append(newAppend(run, { records }));
      const found = async (after: number, limit: number) =>
        (await world.journal.listCalls(run.runId, { after, limit })).map(({ seq, call }) => [seq, call]);
      expect(await found(-1, 2)).toStrictEqual([
        [0, 0],
        [2, 1],
        [3, 0],
      ]);
      expect(await found(1, 2)).toStrictEqual([
        [1, 2],
        [4, 3],
        [5, 2],
      ]);
      expect(await found(3, 9)).toStrictEqual([[6, 5]]);
      expect(await found(5, 9)).toStrictEqual([]);
    });

    test('what runs have used is read of several at once, with what it has cost where that is known', async () => {
      const runs = await Promise.all([1, 2, 3].map(() => start(world.journal, newRun())));
      const [priced, free, none] = runs as [RunRow, RunRow, RunRow];
      const used = { inputTokens: 3, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0, totalTokens: 5 };
      const records = [0, 1].map((seq) => ({ ...newRecord(seq), tokens: { ...used, cost: 0.25 } }));
      await world.journal.append(newAppend(priced, { records }));
      await world.journal.append(newAppend(free, { records: [{ ...newRecord(0), tokens: used }] }));
      const found = await world.journal.spentOf([priced.runId, free.runId, none.runId, newRunId()]);
      const byRun = new Map(found.map(({ runId, ...spent }) => [runId, spent]));
      expect(found).toHaveLength(3);
      expect(byRun.get(priced.runId)).toMatchObject({ cost: 0.5 });
      expect(await world.journal.costOf(priced.runId)).toBe(0.5);
      for (const { runId } of [free, none]) expect(byRun.get(runId)).not.toHaveProperty('cost');
      for (const { runId } of runs) {
        const { inputTokens, outputTokens } = await read(world.journal, runId);
        expect(byRun.get(runId)).toMatchObject({ inputTokens, outputTokens });
      }
      expect(await world.journal.spentOf([])).toEqual([]);
    });

    test('a part of a history is read from a position on', async () => {
      const run = await start(world.journal, newRun());
      await write(world.journal, run, 5);
      const seqs = async (from: number, limit: number) =>
        (await world.journal.listRecords(run.runId, { from, limit })).map(({ seq }) => seq);
      expect(await seqs(0, 2)).toStrictEqual([0, 1]);
      expect(await seqs(2, 9)).toStrictEqual([2, 3, 4]);
      expect(await seqs(5, 9)).toStrictEqual([]);
    });

    test('nextWake is the time until the earliest wake of an unowned run', async () => {
      const { journal } = world;
      expect(await journal.nextWake()).toBeUndefined();
      await createWaiting(journal, null);
      const owned = await start(journal, newRun());
      const now = await journal.now();
      await write(journal, owned, 0, { status: 'waiting', wakeAt: now + 1 });
      expect(await journal.nextWake()).toBeUndefined();
      await createWaiting(journal, now + 60_000);
      await createWaiting(journal, now + 30_000);
      const wake = await journal.nextWake();
      expect(wake).toBeLessThanOrEqual(30_000);
      expect(wake).toBeGreaterThan(20_000);
      await createWaiting(journal, now - 1_000);
      expect(await journal.nextWake()).toBe(0);
    });

    test('nextWake counts a waiting run whose owner died', async () => {
      const run = await start(world.journal, newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      await write(world.journal, run, 0, { status: 'waiting', wakeAt: (await world.journal.now()) - 1 });
      expect(await world.journal.nextWake()).toBe(0);
    });

    test('now goes on in milliseconds', async () => {
      const now = await world.journal.now();
      expect(Number.isInteger(now)).toBe(true);
      expect(Math.abs(now - Date.now())).toBeLessThan(60_000);
      await until(async () => (await world.journal.now()) > now);
    });
  });
}

export function describeReading(world: World): void {
  describe('reading', () => {
    test('a run that does not exist reads as undefined and has no records', async () => {
      expect(await world.journal.getRun('\0nothing')).toBeUndefined();
      expect(await world.journal.getRecords('nothing')).toStrictEqual([]);
    });

    test('runs are listed newest first, page by page', async () => {
      const runs: RunRow[] = [];
      for (let n = 0; n < 7; n++) runs.push(await start(world.journal, newRun()));
      const newestFirst = ids(runs).toReversed();
      const page = async (before?: string): Promise<string[]> =>
        ids(await world.journal.listRuns({}, { limit: 3, ...(before ? { before } : {}) }));
      expect(await page()).toStrictEqual(newestFirst.slice(0, 3));
      expect(await page(newestFirst[2])).toStrictEqual(newestFirst.slice(3, 6));
      expect(await page(newestFirst[5])).toStrictEqual(newestFirst.slice(6));
      expect(await page(newestFirst[6])).toStrictEqual([]);
    });

    test('each filter narrows the list, and all of them together', async () => {
      const wanted = { name: 'n', kind: 'agent', trigger: 'chat', sessionId: 's' } as const;
      const match = await start(world.journal, newRun({ ...wanted, ...QUEUED }));
      const others = {
        name: { name: 'm' },
        kind: { kind: 'workflow' },
        trigger: { trigger: 'api' },
        sessionId: { sessionId: 't' },
      };
      for (const other of Object.values(others))
        await start(world.journal, newRun({ ...wanted, ...QUEUED, ...(other as object) }));
      await start(world.journal, newRun(wanted));
      for (const filter of [
        { name: 'm' },
        { kind: 'workflow' },
        { trigger: 'api' },
        { sessionId: 't' },
        { status: 'running' },
      ] as const)
        expect(await world.journal.listRuns(filter, { limit: 10 })).toHaveLength(1);
      expect(await world.journal.listRuns({ ...wanted, status: 'queued' }, { limit: 10 })).toStrictEqual([match]);
      expect(await world.journal.listRuns({ ...wanted, name: 'x' }, { limit: 10 })).toStrictEqual([]);
    });

    test('a journal opened again holds everything', async () => {
      const run = await start(world.journal, newRun({ durability: 'synced' }));
      const records = [newRecord(0), newRecord(1)];
      await world.journal.append(newAppend(run, { records, durability: 'synced' }));
      await world.journal.close();
      const again = await world.open();
      expect(await again.getRun(run.runId)).toStrictEqual({ ...run, seq: 2 });
      expect(await again.getRecords(run.runId)).toStrictEqual(records);
    });

    test('closing waits for what was sent', async () => {
      const run = await start(world.journal, newRun());
      const sent = [0, 1, 2].map((seq) => write(world.journal, { ...run, seq }, 1));
      await world.journal.close();
      expect(await Promise.all(sent)).toStrictEqual(sent.map(() => APPENDED));
      const again = await world.open();
      expect(await again.getRecords(run.runId)).toHaveLength(3);
    });
  });
}

export function describeValues(world: World): void {
  describe('values', () => {
    test('a history of small and large records is whole and in order', async () => {
      const run = await start(world.journal, newRun());
      const isLarge = (seq: number) => seq >= 80 && seq < 95;
      const records = Array.from({ length: 620 }, (_, seq) =>
        newRecord(seq, isLarge(seq) ? { output: `${seq}`.padEnd(1_000_000, 'x') } : {}),
      );
      await world.journal.append(newAppend(run, { records }));
      const found = await world.journal.getRecords(run.runId);
      expect(found.map(({ seq }) => seq)).toStrictEqual(records.map(({ seq }) => seq));
      expect(found.every(({ output }, n) => output === records[n]?.output)).toBe(true);
    });

    test('payloads of 900 KiB come back as they were', async () => {
      const big = JSON.stringify(['ü'.repeat(450 * 1024)]);
      const run = await start(world.journal, newRun({ input: big }));
      const records = [newRecord(0, { input: big, output: big }), newRecord(1, { error: big, output: null })];
      await world.journal.append(newAppend(run, { records, patch: { output: big } }));
      expect(await world.journal.getRecords(run.runId)).toStrictEqual(records);
      expect(await world.journal.getRun(run.runId)).toMatchObject({ input: big, output: big });
    });

    test.each([
      ['empty text', ''],
      ['letters of every plane', 'é 漢 😀 \u2028 \ufeff \uffff'],
      ['what SQL and arrays read as syntax', `'"\\,{}NULL;--$1?\n\t\r %s`],
      ['NULL alone', 'NULL'],
      ['NUL and its neighbours', '\0a\0\u0001\u001a0000\u001a'],
      ['lone surrogates', '\ud800 x \udc00 \ud83d'],
      ['a pair the wrong way round', '\ude00\ud83d'],
    ])('any string comes back as it was: %s', async (_, text) => {
      const fields = { name: text, sessionId: text, codeHash: text, input: text, parentRunId: text, retryOf: text };
      const run = await start(world.journal, newRun({ runId: newRunId() + text, ...fields }));
      expect(run).toMatchObject(fields);
      const record = newRecord(0, {
        stepId: text,
        digest: text,
        recordId: text,
        input: text,
        output: text,
        error: text,
      });
      const entry = newAppend(run, { records: [record], patch: { waitingFor: text, output: text, error: text } });
      expect(await world.journal.append(entry)).toStrictEqual(APPENDED);
      expect(await world.journal.append(entry)).toStrictEqual(APPENDED);
      expect(await world.journal.getRecords(run.runId)).toStrictEqual([record]);
      const [listed] = await world.journal.listRuns({ name: text, sessionId: text }, { limit: 1 });
      expect(listed).toStrictEqual({ ...run, seq: 1, waitingFor: text, output: text, error: text });
    });

    test('an owner can be any string', async () => {
      const owner = '\0o\ud800';
      const run = await start(world.journal, newRun({ claim: { owner: `${owner}a`, leaseMs: 0 } }));
      const [taken] = await claim(world.journal, { owner });
      expect(taken).toMatchObject({ runId: run.runId, owner });
      expect(await world.journal.look(owner)).toMatchObject({ isHolding: true });
      await world.journal.renew(owner, 90_000);
      expect((await read(world.journal, run.runId)).leaseUntil).toBeGreaterThan(run.createdAt + 60_000);
    });
  });
}
