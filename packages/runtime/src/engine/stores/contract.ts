import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newRunId } from '../ids.ts';
import type { AppendResult, Journal, NewRun, RunPatch, RunRow } from '../journal.ts';
import { NO_TOKENS } from '../journal.ts';
import { newAppend, newRecord, newRun } from './records.ts';

/** One empty place for a journal, which can be opened several times. */
export interface JournalPlace {
  open(): Promise<Journal>;
  /** After every journal opened here is closed. */
  remove(): Promise<void>;
}

/** What every adapter of `Journal` promises. */
export function describeJournal(name: string, createPlace: () => Promise<JournalPlace>): void {
  describe(`${name}`, () => {
    const opened: Journal[] = [];
    let place: JournalPlace;
    let journal: Journal;

    const open = async (): Promise<Journal> => {
      const another = await place.open();
      opened.push(another);
      return another;
    };

    beforeEach(async () => {
      place = await createPlace();
      journal = await open();
    });

    afterEach(async () => {
      await Promise.all(opened.splice(0).map((each) => each.close()));
      await place.remove();
    });

    const world: World = {
      open,
      get journal() {
        return journal;
      },
    };
    describeCreate(world);
    describeAppend(world);
    describePatch(world);
    describeClaim(world);
    describeTakeover(world);
    describeLeases(world);
    describeReading(world);
    describeValues(world);
  });
}

// --- internal ---

interface World {
  readonly journal: Journal;
  open(): Promise<Journal>;
}

const QUEUED = { claim: null };
const APPENDED = { outcome: 'appended', at: expect.any(Number) as number };

/** Appends `count` records and the patch. */
function write(journal: Journal, run: RunRow, count: number, patch: RunPatch = {}): Promise<AppendResult> {
  const records = Array.from({ length: count }, (_, index) => newRecord(run.seq + index));
  return journal.append(newAppend(run, { records, patch }));
}

async function createWaiting(journal: Journal, wakeAt: number | null, fields?: Partial<NewRun>): Promise<RunRow> {
  const run = await journal.create(newRun(fields));
  await write(journal, run, 0, { status: 'waiting', wakeAt, waitingFor: '{"kind":"sleep"}', release: true });
  return run;
}

async function read(journal: Journal, runId: string): Promise<RunRow> {
  const run = await journal.getRun(runId);
  if (!run) throw new Error(`There is no run "${runId}".`);
  return run;
}

function claim(
  journal: Journal,
  fields: { owner?: string; leaseMs?: number; limit?: number; takeover?: boolean } = {},
): Promise<RunRow[]> {
  return journal.claim({ owner: 'b', leaseMs: 30_000, limit: 100, ...fields });
}

function ids(runs: { runId: string }[]): string[] {
  return runs.map((run) => run.runId);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 2_000) throw new Error('The condition did not become true.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function describeCreate(world: World): void {
  describe('create', () => {
    test('a created run can be read', async () => {
      const before = await world.journal.now();
      const given = newRun({ kind: 'agent', sessionId: 's1', parentRunId: 'p1', retryOf: 'r1', trigger: 'chat' });
      const run = await world.journal.create(given);
      const { claim: _, durability: __, ...fields } = given;
      expect(run).toStrictEqual({
        ...fields,
        ...NO_TOKENS,
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
      const run = await world.journal.create(newRun(QUEUED));
      expect(run).toMatchObject({ status: 'queued', epoch: 0, owner: null, leaseUntil: null, startedAt: null });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(run);
    });

    test('a second create with the same run id answers the stored run and changes nothing', async () => {
      const first = await world.journal.create(newRun());
      await write(world.journal, first, 1);
      const second = await world.journal.create(newRun({ runId: first.runId, input: '[2]', claim: null }));
      expect(second).toStrictEqual({ ...first, seq: 1 });
      expect(await world.journal.getRun(first.runId)).toStrictEqual(second);
    });

    test('two creates with the same run id at once answer the same run', async () => {
      const runId = newRunId();
      const [one, two] = await Promise.all([
        world.journal.create(newRun({ runId, input: '[1]' })),
        world.journal.create(newRun({ runId, input: '[2]' })),
      ]);
      expect(two).toStrictEqual(one);
    });

    test('500 runs created at once all exist', async () => {
      const runs = await Promise.all(Array.from({ length: 500 }, () => world.journal.create(newRun())));
      const listed = await world.journal.listRuns({}, { limit: 1_000 });
      expect(ids(listed).sort()).toStrictEqual(ids(runs).sort());
    });
  });
}

function describeAppend(world: World): void {
  describe('append', () => {
    test('an append takes the next positions and keeps its records', async () => {
      const run = await world.journal.create(newRun());
      const tokens = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4, totalTokens: 10 };
      const records = [
        newRecord(0, { kind: 'model', stepId: 'model', tokens, input: null }),
        newRecord(1, { call: 0, event: 'retry', attempt: 2, output: null, error: '["no"]' }),
      ];
      const more = [newRecord(2, { kind: 'sleep', stepId: 'sleep', event: 'set', input: null, output: null })];
      const before = await world.journal.now();
      const result = await world.journal.append(newAppend(run, { records }));
      expect(result).toStrictEqual(APPENDED);
      expect((result as { at: number }).at).toBeGreaterThanOrEqual(before);
      expect(await world.journal.append(newAppend({ ...run, seq: 2 }, { records: more }))).toStrictEqual(APPENDED);
      expect(await world.journal.getRecords(run.runId)).toStrictEqual([...records, ...more]);
      expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, seq: 3 });
    });

    test('a lower epoch is fenced and writes nothing', async () => {
      const old = await world.journal.create(newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      const [taken] = await claim(world.journal);
      expect(await write(world.journal, old, 1, { status: 'completed', output: '[1]' })).toStrictEqual({
        outcome: 'fenced',
      });
      expect(await world.journal.getRun(old.runId)).toStrictEqual(taken);
      expect(await world.journal.getRecords(old.runId)).toStrictEqual([]);
    });

    test('a run that does not exist is fenced', async () => {
      const run = { runId: newRunId(), epoch: 1, seq: 0 };
      expect(await world.journal.append(newAppend(run, { records: [newRecord(0)] }))).toStrictEqual({
        outcome: 'fenced',
      });
      expect(await world.journal.getRecords(run.runId)).toStrictEqual([]);
    });

    test('a position that is taken, or not reached, is a conflict and writes nothing', async () => {
      const run = await world.journal.create(newRun());
      await write(world.journal, run, 2);
      for (const seq of [0, 1, 3])
        expect(await write(world.journal, { ...run, seq }, 1)).toStrictEqual({ outcome: 'conflict' });
      expect(await world.journal.getRecords(run.runId)).toHaveLength(2);
      expect((await read(world.journal, run.runId)).seq).toBe(2);
    });

    test('a repeat with the same record ids answers appended and writes nothing twice', async () => {
      const run = await world.journal.create(newRun());
      const entry = newAppend(run, { records: [newRecord(0), newRecord(1)], patch: { totalTokens: 5 } });
      await world.journal.append(entry);
      await write(world.journal, { ...run, seq: 2 }, 1, { totalTokens: 7 });
      expect(await world.journal.append(entry)).toStrictEqual(APPENDED);
      expect(await world.journal.getRecords(run.runId)).toHaveLength(3);
      expect(await world.journal.getRun(run.runId)).toMatchObject({ seq: 3, totalTokens: 7 });
    });

    test('a repeat of the append that ended the run answers appended', async () => {
      const run = await world.journal.create(newRun());
      const entry = newAppend(run, { records: [newRecord(0)], patch: { status: 'completed', output: '[1]' } });
      await world.journal.append(entry);
      expect(await world.journal.append(entry)).toStrictEqual(APPENDED);
      expect(await world.journal.getRecords(run.runId)).toHaveLength(1);
    });

    test('a repeat of an end without records answers appended, another end does not', async () => {
      const run = await world.journal.create(newRun());
      const end: RunPatch = { status: 'failed', error: '["x"]' };
      await write(world.journal, run, 0, end);
      expect(await write(world.journal, run, 0, end)).toStrictEqual(APPENDED);
      const refused = { outcome: 'final', status: 'failed' };
      expect(await write(world.journal, run, 0, { ...end, error: '["y"]' })).toStrictEqual(refused);
      expect(await write(world.journal, run, 0, { status: 'cancelled' })).toStrictEqual(refused);
      expect(await world.journal.getRun(run.runId)).toMatchObject(end);
    });

    test('a repeat that differs in one record id is not a repeat', async () => {
      const run = await world.journal.create(newRun());
      const [kept, other] = [newRecord(0), newRecord(1)];
      await world.journal.append(newAppend(run, { records: [kept, other] }));
      const records = [kept, newRecord(1)];
      expect(await world.journal.append(newAppend(run, { records }))).toStrictEqual({ outcome: 'conflict' });
    });

    test.each(['completed', 'failed', 'cancelled'] as const)('%s is final', async (status) => {
      const run = await world.journal.create(newRun());
      await write(world.journal, run, 1, { status });
      const ended = await read(world.journal, run.runId);
      const refused = await write(world.journal, { ...run, seq: 1 }, 1, { status: 'running', output: '[3]' });
      expect(refused).toStrictEqual({ outcome: 'final', status });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(ended);
      expect(await world.journal.getRecords(run.runId)).toHaveLength(1);
    });

    test('appends to one run sent without waiting land in the order they were sent', async () => {
      const run = await world.journal.create(newRun());
      const sent = Array.from({ length: 20 }, (_, seq) => newRecord(seq));
      const results = await Promise.all(
        sent.map((record) => world.journal.append(newAppend({ ...run, seq: record.seq }, { records: [record] }))),
      );
      expect(results).toStrictEqual(sent.map(() => APPENDED));
      expect(await world.journal.getRecords(run.runId)).toStrictEqual(sent);
    });

    test('200 appends over 50 runs at once all land', async () => {
      const runs = await Promise.all(Array.from({ length: 50 }, () => world.journal.create(newRun())));
      const sent = [0, 1, 2, 3].flatMap((seq) => runs.map((run) => write(world.journal, { ...run, seq }, 1)));
      expect(await Promise.all(sent)).toStrictEqual(sent.map(() => APPENDED));
      for (const run of runs) {
        const records = await world.journal.getRecords(run.runId);
        expect(records.map((record) => record.seq)).toStrictEqual([0, 1, 2, 3]);
      }
    });

    test('a refused append does not hold back those it shares a commit with', async () => {
      const [mine, lost, over] = await Promise.all([1, 2, 3].map(() => world.journal.create(newRun())));
      if (!mine || !lost || !over) throw new Error('Three runs were created.');
      await write(world.journal, over, 0, { status: 'cancelled' });
      const results = await Promise.all([
        write(world.journal, { ...lost, epoch: 0 }, 1),
        write(world.journal, over, 1),
        write(world.journal, mine, 1),
        write(world.journal, { ...mine, seq: 5 }, 1),
      ]);
      expect(results.map((result) => result.outcome)).toStrictEqual(['fenced', 'final', 'appended', 'conflict']);
    });

    test('of two writers at one position exactly one lands', async () => {
      const other = await world.open();
      const run = await world.journal.create(newRun());
      for (let seq = 0; seq < 20; seq++) {
        const results = await Promise.all([world.journal, other].map((each) => write(each, { ...run, seq }, 1)));
        expect(results.map((result) => result.outcome).sort()).toStrictEqual(['appended', 'conflict']);
      }
      expect(await world.journal.getRecords(run.runId)).toHaveLength(20);
    });
  });
}

function describePatch(world: World): void {
  describe('patch', () => {
    test('the named columns change, and no other', async () => {
      const run = await world.journal.create(newRun());
      await write(world.journal, run, 0, { waitingFor: '{"hook":"x"}', wakeAt: 5, inputTokens: 3, totalTokens: 4 });
      await write(world.journal, run, 1, { outputTokens: 1, wakeAt: null });
      expect(await world.journal.getRun(run.runId)).toStrictEqual({
        ...run,
        seq: 1,
        waitingFor: '{"hook":"x"}',
        inputTokens: 3,
        outputTokens: 1,
        totalTokens: 4,
      });
    });

    test('every column of a patch is kept', async () => {
      const run = await world.journal.create(newRun());
      const patch = {
        status: 'waiting',
        wakeAt: 1,
        waitingFor: 'w',
        output: 'o',
        error: 'e',
        inputTokens: 2,
        outputTokens: 3,
        cacheReadTokens: 4,
        cacheWriteTokens: 5,
        totalTokens: 6,
      } as const;
      await write(world.journal, run, 0, patch);
      expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, ...patch });
    });

    test('null empties a column, undefined leaves it', async () => {
      const run = await world.journal.create(newRun());
      await write(world.journal, run, 0, { output: 'o', error: 'e' });
      await write(world.journal, run, 0, { output: null, error: undefined } as RunPatch);
      expect(await world.journal.getRun(run.runId)).toMatchObject({ output: null, error: 'e' });
    });

    test('release gives the run back', async () => {
      const run = await world.journal.create(newRun());
      await write(world.journal, run, 0, { release: true });
      expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, owner: null, leaseUntil: null });
    });

    test.each(['completed', 'failed', 'cancelled'] as const)(
      '%s sets the end and gives the run back',
      async (status) => {
        const run = await world.journal.create(newRun());
        const result = await write(world.journal, run, 1, { status, output: '[1]' });
        const endedAt = (result as { at: number }).at;
        const released = { owner: null, leaseUntil: null };
        expect(await world.journal.getRun(run.runId)).toStrictEqual({
          ...run,
          seq: 1,
          status,
          output: '[1]',
          endedAt,
          ...released,
        });
      },
    );

    test('patches of different runs in one commit do not mix', async () => {
      const runs = await Promise.all([1, 2, 3, 4].map(() => world.journal.create(newRun())));
      const patches: RunPatch[] = [
        { output: 'x' },
        {},
        { error: 'y', totalTokens: 2 },
        { status: 'waiting', wakeAt: 9 },
      ];
      await Promise.all(runs.map((run, index) => write(world.journal, run, index % 2, patches[index])));
      for (const [index, run] of runs.entries())
        expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, seq: index % 2, ...patches[index] });
    });
  });
}

function describeClaim(world: World): void {
  describe('claim', () => {
    test('a claimed run has the owner, a lease, a higher epoch and runs', async () => {
      const created = await world.journal.create(newRun(QUEUED));
      const before = await world.journal.now();
      const [taken] = await claim(world.journal, { leaseMs: 1_000 });
      if (!taken?.startedAt) throw new Error('The run was not taken.');
      const { leaseUntil, startedAt } = taken;
      expect(taken).toStrictEqual({ ...created, status: 'running', owner: 'b', epoch: 1, leaseUntil, startedAt });
      expect(startedAt).toBeGreaterThanOrEqual(before);
      expect(leaseUntil).toBe(startedAt + 1_000);
      expect(await world.journal.getRun(created.runId)).toStrictEqual(taken);
    });

    test('the start is set once', async () => {
      await world.journal.create(newRun(QUEUED));
      const [first] = await claim(world.journal, { leaseMs: 0 });
      await until(async () => (await world.journal.now()) > (first?.startedAt ?? 0));
      const [second] = await claim(world.journal);
      expect(second).toMatchObject({ epoch: 2, startedAt: first?.startedAt });
    });

    test('expired leases go first, then due wakes, then queued runs, each oldest first', async () => {
      const now = await world.journal.now();
      const queued = [await world.journal.create(newRun(QUEUED)), await world.journal.create(newRun(QUEUED))];
      const later = await createWaiting(world.journal, now - 10);
      const sooner = await createWaiting(world.journal, now - 20);
      const expired = [0, -50].map((leaseMs) => world.journal.create(newRun({ claim: { owner: 'a', leaseMs } })));
      const [lately, longAgo] = await Promise.all(expired);
      const order = [longAgo, lately, sooner, later, ...queued] as RunRow[];
      expect(ids(await claim(world.journal, { limit: 3 }))).toStrictEqual(ids(order.slice(0, 3)));
      expect(ids(await claim(world.journal))).toStrictEqual(ids(order.slice(3)));
      expect(await claim(world.journal)).toStrictEqual([]);
    });

    test('a run given back while it was running is taken', async () => {
      const run = await world.journal.create(newRun());
      await write(world.journal, run, 0, { release: true });
      expect(ids(await claim(world.journal))).toStrictEqual([run.runId]);
    });

    test('a run whose lease holds is not taken, by its own owner neither', async () => {
      await world.journal.create(newRun());
      expect(await claim(world.journal)).toStrictEqual([]);
      expect(await claim(world.journal, { owner: 'a' })).toStrictEqual([]);
    });

    test('a waiting run is taken once it is due, and never without a wake', async () => {
      const now = await world.journal.now();
      const soon = await createWaiting(world.journal, now + 60);
      await createWaiting(world.journal, null);
      await createWaiting(world.journal, now + 60_000);
      expect(await claim(world.journal, { limit: 0 })).toStrictEqual([]);
      let taken: RunRow[] = [];
      await until(async () => (taken = await claim(world.journal)).length > 0);
      expect(ids(taken)).toStrictEqual([soon.runId]);
      expect(taken[0]?.startedAt).toBeGreaterThanOrEqual(now);
      expect(await world.journal.now()).toBeGreaterThanOrEqual(now + 60);
    });

    test('a waiting run whose owner died is taken once it is due', async () => {
      const now = await world.journal.now();
      const lapsed = { claim: { owner: 'a', leaseMs: 0 } };
      const due = await world.journal.create(newRun(lapsed));
      await write(world.journal, due, 0, { status: 'waiting', wakeAt: now - 1 });
      const notDue = await world.journal.create(newRun(lapsed));
      await write(world.journal, notDue, 0, { status: 'waiting', wakeAt: now + 60_000 });
      expect(ids(await claim(world.journal))).toStrictEqual([due.runId]);
    });

    test('blocked and final runs are never taken', async () => {
      for (const status of ['blocked', 'completed', 'failed', 'cancelled'] as const) {
        const run = await world.journal.create(newRun({ claim: { owner: 'a', leaseMs: 0 } }));
        await write(world.journal, run, 0, { status, wakeAt: 1 });
        expect(await world.journal.claimRun(run.runId, { owner: 'b', leaseMs: 1_000 })).toBeUndefined();
      }
      expect(await claim(world.journal)).toStrictEqual([]);
      expect(await claim(world.journal, { takeover: true })).toStrictEqual([]);
    });

    test('two claimers at once never get the same run, and between them get all', async () => {
      const other = await world.open();
      const runs = await Promise.all(Array.from({ length: 120 }, () => world.journal.create(newRun(QUEUED))));
      const taken: RunRow[] = [];
      const drain = async (from: Journal, owner: string): Promise<void> => {
        for (let idle = 0; idle < 3;) {
          const batch = await claim(from, { owner, limit: 7 });
          idle = batch.length === 0 ? idle + 1 : 0;
          taken.push(...batch);
        }
      };
      await Promise.all([drain(world.journal, 'a'), drain(world.journal, 'b'), drain(other, 'c'), drain(other, 'd')]);
      expect(ids(taken).sort()).toStrictEqual(ids(runs).sort());
      for (const run of taken) expect((await read(world.journal, run.runId)).owner).toBe(run.owner);
    });
  });

  describe('claimRun', () => {
    test('takes the one run it is asked for', async () => {
      await world.journal.create(newRun(QUEUED));
      const run = await world.journal.create(newRun(QUEUED));
      const taken = await world.journal.claimRun(run.runId, { owner: 'b', leaseMs: 1_000 });
      expect(taken).toMatchObject({ runId: run.runId, owner: 'b', epoch: 1, status: 'running' });
      expect(await world.journal.getRun(run.runId)).toStrictEqual(taken);
    });

    test('a run another owner holds is not to be had; one whose lease expired is', async () => {
      const held = await world.journal.create(newRun());
      const expired = await world.journal.create(newRun({ claim: { owner: 'a', leaseMs: 0 } }));
      const given = { owner: 'b', leaseMs: 1_000 };
      expect(await world.journal.claimRun(held.runId, given)).toBeUndefined();
      expect(await world.journal.claimRun(expired.runId, given)).toMatchObject({ owner: 'b', epoch: 2 });
    });

    test('its owner can take a run again', async () => {
      const held = await world.journal.create(newRun());
      const again = await world.journal.claimRun(held.runId, { owner: 'a', leaseMs: 1_000 });
      expect(again).toMatchObject({ owner: 'a', epoch: 2, startedAt: held.startedAt });
    });

    test('a waiting run is to be had once it is due', async () => {
      const now = await world.journal.now();
      const [due, notDue] = [await createWaiting(world.journal, now), await createWaiting(world.journal, now + 60_000)];
      const given = { owner: 'b', leaseMs: 1_000 };
      expect(await world.journal.claimRun(due.runId, given)).toMatchObject({ status: 'running' });
      expect(await world.journal.claimRun(notDue.runId, given)).toBeUndefined();
    });

    test('a run that does not exist is not to be had', async () => {
      expect(await world.journal.claimRun(newRunId(), { owner: 'b', leaseMs: 1_000 })).toBeUndefined();
    });
  });
}

function describeTakeover(world: World): void {
  describe('takeover', () => {
    test('takes what others hold, and queued and due runs', async () => {
      const now = await world.journal.now();
      const held = await world.journal.create(newRun());
      const queued = await world.journal.create(newRun(QUEUED));
      const due = await createWaiting(world.journal, now);
      const taken = await claim(world.journal, { takeover: true });
      expect(ids(taken).sort()).toStrictEqual(ids([held, queued, due]).sort());
      expect(taken.find((run) => run.runId === held.runId)).toMatchObject({ owner: 'b', epoch: 2 });
      expect(await write(world.journal, held, 1)).toStrictEqual({ outcome: 'fenced' });
    });

    test('repeated until nothing is left, it takes every run once', async () => {
      const runs = await Promise.all(Array.from({ length: 25 }, () => world.journal.create(newRun())));
      const taken: RunRow[] = [];
      for (let round = 0; round < 4; round++)
        taken.push(...(await claim(world.journal, { takeover: true, limit: 10 })));
      expect(ids(taken).sort()).toStrictEqual(ids(runs).sort());
    });

    test('a parked run stays parked, and its wake counts again', async () => {
      const run = await world.journal.create(newRun());
      const wakeAt = (await world.journal.now()) + 20_000;
      await write(world.journal, run, 0, { status: 'waiting', wakeAt });
      expect(await world.journal.nextWake()).toBeUndefined();
      expect(await claim(world.journal, { takeover: true })).toStrictEqual([]);
      expect(await world.journal.nextWake()).toBeGreaterThan(0);
      expect(await world.journal.getRun(run.runId)).toMatchObject({ status: 'waiting', wakeAt });
    });
  });
}

function describeLeases(world: World): void {
  describe('leases and wakes', () => {
    test('renew extends the lease of every run of the owner, and of no other', async () => {
      const mine = await Promise.all([1, 2].map(() => world.journal.create(newRun())));
      const theirs = await world.journal.create(newRun({ claim: { owner: 'b', leaseMs: 30_000 } }));
      const before = await world.journal.now();
      await world.journal.renew('a', 90_000);
      for (const run of mine)
        expect((await read(world.journal, run.runId)).leaseUntil).toBeGreaterThanOrEqual(before + 90_000);
      expect(await world.journal.getRun(theirs.runId)).toStrictEqual(theirs);
    });

    test('renew while the same runs are appended to reaches all of them', async () => {
      const runs = await Promise.all(Array.from({ length: 100 }, () => world.journal.create(newRun())));
      const appends = runs.flatMap((run) => [0, 1, 2].map((seq) => write(world.journal, { ...run, seq }, 1)));
      await Promise.all([...appends, world.journal.renew('a', 90_000), world.journal.renew('a', 90_000)]);
      for (const run of runs) {
        const { leaseUntil } = await read(world.journal, run.runId);
        expect(leaseUntil).toBeGreaterThan(run.createdAt + 80_000);
      }
    });

    test('renew does not change the epoch or the status', async () => {
      const run = await world.journal.create(newRun());
      await world.journal.renew('a', 30_000);
      const { leaseUntil } = await read(world.journal, run.runId);
      expect(await world.journal.getRun(run.runId)).toStrictEqual({ ...run, leaseUntil });
    });

    test('nextWake is the time until the earliest wake of an unowned run', async () => {
      const { journal } = world;
      expect(await journal.nextWake()).toBeUndefined();
      await createWaiting(journal, null);
      const owned = await journal.create(newRun());
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
      const run = await world.journal.create(newRun({ claim: { owner: 'a', leaseMs: 0 } }));
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

function describeReading(world: World): void {
  describe('reading', () => {
    test('a run that does not exist reads as undefined and has no records', async () => {
      expect(await world.journal.getRun('\0nothing')).toBeUndefined();
      expect(await world.journal.getRecords('nothing')).toStrictEqual([]);
    });

    test('runs are listed newest first, page by page', async () => {
      const runs: RunRow[] = [];
      for (let n = 0; n < 7; n++) runs.push(await world.journal.create(newRun()));
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
      const match = await world.journal.create(newRun({ ...wanted, ...QUEUED }));
      const others = {
        name: { name: 'm' },
        kind: { kind: 'workflow' },
        trigger: { trigger: 'api' },
        sessionId: { sessionId: 't' },
      };
      for (const other of Object.values(others))
        await world.journal.create(newRun({ ...wanted, ...QUEUED, ...(other as object) }));
      await world.journal.create(newRun(wanted));
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
      const run = await world.journal.create(newRun({ durability: 'synced' }));
      const records = [newRecord(0), newRecord(1)];
      await world.journal.append(newAppend(run, { records, durability: 'synced' }));
      await world.journal.close();
      const again = await world.open();
      expect(await again.getRun(run.runId)).toStrictEqual({ ...run, seq: 2 });
      expect(await again.getRecords(run.runId)).toStrictEqual(records);
    });

    test('closing waits for what was sent', async () => {
      const run = await world.journal.create(newRun());
      const sent = [0, 1, 2].map((seq) => write(world.journal, { ...run, seq }, 1));
      await world.journal.close();
      expect(await Promise.all(sent)).toStrictEqual(sent.map(() => APPENDED));
      const again = await world.open();
      expect(await again.getRecords(run.runId)).toHaveLength(3);
    });
  });
}

function describeValues(world: World): void {
  describe('values', () => {
    test('payloads of 900 KiB come back as they were', async () => {
      const big = JSON.stringify(['ü'.repeat(450 * 1024)]);
      const run = await world.journal.create(newRun({ input: big }));
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
      const run = await world.journal.create(newRun({ runId: newRunId() + text, ...fields }));
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
      const run = await world.journal.create(newRun({ claim: { owner, leaseMs: 0 } }));
      const [taken] = await claim(world.journal, { owner });
      expect(taken).toMatchObject({ runId: run.runId, owner });
      await world.journal.renew(owner, 90_000);
      expect((await read(world.journal, run.runId)).leaseUntil).toBeGreaterThan(run.createdAt + 60_000);
    });
  });
}
