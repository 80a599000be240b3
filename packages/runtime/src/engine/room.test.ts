import { beforeEach, describe, expect, test } from 'vitest';
import { newJournalPath, outputOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Code, Place } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { SILENT } from './doorbell.ts';
import type { Doorbell, RingListener } from './doorbell.ts';
import type { Journal } from './journal.ts';
import { startWorkflowAndWait } from './primitives/child-workflow.ts';
import { createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';
import { encode } from './serialize.ts';
import { openSqliteJournal } from './stores/sqlite/journal.ts';
import { wrapJournal } from './stores/wrap.ts';

// A process has room for so many runs. Who waits for whom, and in which order, once it is full.

const bench = useBenches();

describeOnStores('a full process', (newPlace) => {
  test('runs the children its parents wait for, in a step and in a body', async () => {
    const inStep = step('inStep', async (n: number) => startWorkflowAndWait('child', n));
    const double = step('double', (n: number) => n * 2);
    const { start, engine } = await bench(
      newPlace(),
      {
        child: async (n: number) => double(n),
        steps: async (n: number) => inStep(n),
        bodies: async (n: number) => startWorkflowAndWait('child', n),
      },
      { maxLive: 5 },
    );
    const runs = await Promise.all(Array.from({ length: 20 }, (_, n) => start(n % 2 ? 'steps' : 'bodies', n)));
    const rows = await Promise.all(runs.map(({ runId }) => engine.wait(runId, 30_000)));
    expect(rows.map(outputOf)).toEqual(runs.map((_, n) => n * 2));
  });

  test('takes later starts although its runs await what never comes', async () => {
    const { start, engine } = await bench(
      newPlace(),
      { stuck: async () => new Promise(() => {}), quick: async () => 'done' },
      { maxLive: 5 },
    );
    await Promise.all(Array.from({ length: 10 }, () => start('stuck')));
    const { runId } = await start('quick');
    expect(outputOf(await engine.wait(runId, 10_000))).toBe('done');
  });

  test('takes starts in their order, as soon as a place is free', async () => {
    const begun: number[] = [];
    const work = step('work', async (n: number) => {
      begun.push(n);
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    const { create, engine } = await bench(
      newPlace(),
      { go: async (n: number) => work(n) },
      { maxLive: 4, sweepMs: 5_000 },
    );
    const runs: string[] = [];
    for (let n = 0; n < 60; n++) {
      runs.push(runOf(await create('go', n)).runId);
      // Faster than the process can work.
      if (n % 4 === 3) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const at = performance.now();
    await Promise.all(runs.map((runId) => engine.wait(runId, 20_000)));
    // 60 runs of 20 ms, four at a time: with the sweep alone it would be some 70 seconds.
    expect(performance.now() - at).toBeLessThan(15_000);
    expect(begun).toHaveLength(60);
    // Those that are taken together begin in any order.
    const ahead = begun.map((n, index) => index - n);
    expect(Math.max(...ahead.map(Math.abs))).toBeLessThanOrEqual(8);
  });

  test('asks the journal no more often while it is full', async () => {
    const hold = step('hold', () => new Promise((resolve) => setTimeout(resolve, 1_200)));
    let asked = 0;
    const place = newPlace();
    const counted = async (): Promise<Journal> => {
      const journal = await place.open();
      const { listHeld } = journal;
      return Object.assign(journal, { listHeld: async (owner: string) => ((asked += 1), listHeld(owner)) });
    };
    const code = { go: async () => hold(), parked: async () => createHook({ token: 'go-on' }) };
    const options = { maxLive: 2, sweepMs: 200, limits: { parkAfter: 0 } };
    const { start, engine, journal } = await bench({ open: counted }, code, options);
    const parked = await start('parked');
    await until(async () => {
      const run = await journal.getRun(parked.runId);
      return run?.status === 'waiting' && run.owner === null;
    });
    const runs = await Promise.all(Array.from({ length: 2 }, () => start('go')));
    asked = 0;
    await engine.resumeHook('go-on', 1);
    await Promise.all([parked, ...runs].map(({ runId }) => engine.wait(runId, 10_000)));
    expect(asked).toBeLessThan(40);
  });
});

describe('time that jumps', () => {
  test('a process that stood still, or whose clock was set ahead, keeps its runs and repeats no step', async () => {
    let offset = 0;
    let begun = 0;
    const charge = step('charge', async () => {
      begun += 1;
      await new Promise((resolve) => setTimeout(resolve, 400));
    });
    const path = newJournalPath();
    const place = { open: () => openSqliteJournal({ path, clock: () => Date.now() + offset }) };
    const { start, engine } = await bench(place, { go: async () => charge() }, { leaseMs: 3_000 });
    const { runId } = await start('go');
    await until(() => begun === 1);
    offset = 60_000;
    const row = await engine.wait(runId, 10_000);
    expect([row?.status, row?.epoch, begun]).toEqual(['completed', 1, 1]);
  });

  test('a clock that is set back holds up no later sleep', async () => {
    let offset = 60_000;
    const path = newJournalPath();
    const place = { open: () => openSqliteJournal({ path, clock: () => Date.now() + offset }) };
    const { run, start, engine } = await bench(place, { nap: async () => sleep(50) });
    await run('nap');
    offset = 0;
    await until(async () => {
      const { runId } = await start('nap');
      return (await engine.wait(runId, 500))?.status === 'completed';
    });
  });
});

describeOnStores('a process whose leases are over before it has renewed them', (newPlace) => {
  /** An engine on a journal that renews nothing and is looked at by no sweep: the leases end while it works. */
  const open = async (code: Code, options: object = {}) => {
    const place = newPlace();
    const late: Place = {
      open: async () =>
        wrapJournal(await place.open(), (name, call) => (name === 'renew' ? (Promise.resolve() as never) : call())),
    };
    const opened = await bench(late, code, { exclusive: false, leaseMs: 200, sweepMs: 60_000, ...options });
    const isLapsed = async (runId: string): Promise<boolean> =>
      ((await opened.journal.getRun(runId))?.leaseUntil ?? Infinity) < (await opened.journal.now());
    return { ...opened, isLapsed };
  };
  let begun = 0;
  let letGo = (): void => {};
  let isOver: Promise<void>;
  beforeEach(() => {
    begun = 0;
    isOver = new Promise((resolve) => (letGo = resolve));
  });
  const charge = step('charge', async () => {
    begun += 1;
    await isOver;
  });

  test('fills a place that becomes free, and repeats no step of the run beside it', async () => {
    let end = (): void => {};
    const short = step('short', () => new Promise<void>((resolve) => (end = resolve)));
    const code: Code = { long: async () => charge(), short: async () => short(), next: async () => letGo() };
    const { start, create, engine, isLapsed } = await open(code, { maxLive: 2 });
    const [long] = [await start('long'), await start('short')];
    const queued = runOf(await create('next'));
    await until(async () => begun === 1 && (await isLapsed(long.runId)));
    end();
    const rows = await Promise.all([long, queued].map(({ runId }) => engine.wait(runId, 10_000)));
    expect(rows.map((row) => [row?.status, row?.epoch])).toEqual([
      ['completed', 1],
      ['completed', 1],
    ]);
    expect(begun).toBe(1);
  });

  test('takes what many rings have made due, and repeats no step of the run beside it', async () => {
    let ring: RingListener = () => {};
    const doorbell: Doorbell = { ...SILENT, listen: (listener) => ((ring = listener), () => {}) };
    const code: Code = { long: async () => charge(), parked: async (token: string) => createHook({ token }) };
    const { start, engine, journal, isLapsed } = await open(code, { doorbell, limits: { parkAfter: 0 } });
    const tokens = Array.from({ length: 40 }, (_, n) => `go-on-${n}`);
    const parked = await Promise.all(tokens.map((token) => start('parked', token)));
    await until(async () =>
      (await journal.getRuns(parked.map(({ runId }) => runId))).every((run) => run.owner === null),
    );
    const long = await start('long');
    await until(async () => begun === 1 && (await isLapsed(long.runId)));
    // As another replica does that does not take them itself.
    for (const token of tokens) await journal.hooks.resume(token, encode(1, 'payload'));
    for (const { runId } of parked) ring('due', runId);
    const rows = await Promise.all(parked.map(({ runId }) => engine.wait(runId, 10_000)));
    letGo();
    expect(rows.map((row) => row?.status)).toEqual(tokens.map(() => 'completed'));
    expect(await engine.wait(long.runId, 10_000)).toMatchObject({ status: 'completed', epoch: 1 });
    expect(begun).toBe(1);
  });
});

describeOnStores('a workflow that was removed', (newPlace) => {
  test('is looked for ever more rarely, and its history is not read', async () => {
    const place = newPlace();
    const first = await bench(place, {
      gone: async () => {
        await step('note', () => 1)();
        await createHook({ token: 'go-on' });
      },
    });
    const { runId } = await first.start('gone');
    await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
    await first.kill();
    let reads = 0;
    const second = await bench(
      {
        open: async () => {
          const journal = await place.open();
          const { listRecords } = journal;
          return Object.assign(journal, {
            listRecords: async (id: string, page: { from: number; limit: number }) => (
              (reads += 1),
              listRecords(id, page)
            ),
          }) as Journal;
        },
      },
      {},
    );
    await second.engine.resumeHook('go-on', 1);
    await until(async () => JSON.parse((await second.journal.getRun(runId))?.waitingFor ?? '{}').type === 'code');
    const row = await second.journal.getRun(runId);
    expect(JSON.parse(row?.waitingFor ?? '{}')).toMatchObject({
      tries: 1,
      message: expect.stringContaining('gone') as string,
    });
    expect(reads).toBe(0);
  });
});
