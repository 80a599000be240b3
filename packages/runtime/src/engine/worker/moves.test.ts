import { expect, test } from 'vitest';
import { codeLog } from '../../logs/code-log.ts';
import { newJournalPath, step, until, useBenches } from '../_setup.ts';
import type { Bench, BenchOptions, Code } from '../_setup.ts';
import type { EngineOptions } from '../engine.ts';
import { CodeNotKeptError } from '../errors.ts';
import { requestApproval } from '../primitives/approval.ts';
import { createHook } from '../primitives/hook.ts';
import { sleep } from '../primitives/sleep.ts';
import { wrapJournal } from '../stores/wrap.ts';

const bench = useBenches();

/** Two kinds of code in one process: what runs begin with, and the newest. Counts the steps that are executed. */
function openEdited(old: Code, newest: Code, options: Partial<EngineOptions> & BenchOptions = {}): Promise<Bench> {
  return bench(newJournalPath(), old, {
    codeHash: 'old',
    codes: () => ['newest'],
    resolveNewest: async ({ name }) => {
      const run = newest[name] as (input: unknown) => Promise<unknown>;
      if (!run) throw new Error(`There is no workflow "${name}".`);
      return { run, codeHash: 'newest', durability: 'process' };
    },
    ...options,
  });
}

const done: string[] = [];
const charge = step('charge', async (cents: number) => {
  done.push('charge');
  return cents;
});
const ship = step('ship', async () => {
  done.push('ship');
  return 'shipped';
});

const order: Code = {
  async order() {
    const paid = await charge(100);
    await createHook({ token: 'go' });
    return [paid, await ship()];
  },
};

async function park({ start, journal }: Bench, name = 'order'): Promise<string> {
  const { runId } = await start(name);
  await until(async () => (await journal.getRun(runId))?.status === 'waiting');
  return runId;
}

const everything = async ({ journal }: Bench, runId: string) => [
  await journal.getRun(runId),
  await journal.getRecords(runId),
  await journal.hooks.find('go'),
];

test('a check executes no step and writes nothing', async () => {
  const opened = await openEdited(order, {
    async order() {
      const paid = await charge(100);
      const [answer] = await Promise.all([createHook({ token: 'go' }), ship(), createHook({ token: 'more' })]);
      return [paid, answer];
    },
  });
  const runId = await park(opened);
  const before = await everything(opened, runId);
  done.length = 0;
  expect(await opened.engine.checkMove(runId)).toMatchObject({ outcome: 'safe', codeHash: 'newest', stop: null });
  expect(done).toEqual([]);
  expect(await everything(opened, runId)).toEqual(before);
  expect(await opened.journal.hooks.find('more')).toBeUndefined();
});

test('a run that rests in memory is given back, and moved', async () => {
  const opened = await openEdited(order, order);
  const runId = await park(opened);
  expect(opened.engine.liveRuns).toBe(1);
  await until(async () => (await opened.engine.move(runId))?.outcome === 'moved');
  expect(await opened.journal.getRun(runId)).toMatchObject({ codeHash: 'newest', movedFrom: 'old', owner: null });
  expect(await opened.engine.move(runId)).toMatchObject({ outcome: 'current' });
  await opened.engine.resumeHook('go', null);
  expect(await opened.engine.wait(runId, 10_000)).toMatchObject({ status: 'completed' });
});

test('a run whose step is under way is busy, and is not disturbed', async () => {
  let end = (): void => {};
  let begun = 0;
  const long = step('long', () => {
    begun += 1;
    return new Promise<void>((resolve) => (end = resolve));
  });
  const code: Code = { long: () => long() };
  const opened = await openEdited(code, code);
  const { runId } = await opened.start('long');
  await until(() => begun === 1);
  expect(await opened.engine.move(runId)).toMatchObject({ outcome: 'busy', stop: { code: 'run_busy' } });
  end();
  expect(await opened.engine.wait(runId, 10_000)).toMatchObject({ status: 'completed', codeHash: 'old', epoch: 1 });
  expect(begun).toBe(1);
});

const STOPS: [string, Code['order'], Record<string, unknown>][] = [
  [
    'calls another step',
    async () => ship(),
    { code: 'code_changed', call: 0, recorded: 'test.workflow.ts#charge', called: 'test.workflow.ts#ship' },
  ],
  [
    'passes other arguments',
    async () => charge(200),
    { code: 'code_changed', difference: { path: 'args[0]', recorded: '100', called: '200' } },
  ],
  ['ends early', async () => charge(100), { code: 'code_changed', call: 1, recorded: 'hook', called: null }],
  [
    'makes the hook and does not wait for it',
    async () => {
      await charge(100);
      createHook({ token: 'go' });
      return ship();
    },
    { code: 'wait_gone', recorded: 'await hook' },
  ],
  [
    'throws',
    async () => {
      await charge(100);
      throw new Error('Not any more.');
    },
    { code: 'code_changed', message: expect.stringContaining('Not any more.') },
  ],
];

test.each(STOPS)('newest code that %s stops, and is not given to the run', async (_name, newest, stop) => {
  const opened = await openEdited(order, { order: newest as Code[string] });
  const runId = await park(opened);
  expect(await opened.engine.checkMove(runId)).toMatchObject({ outcome: 'stops', stop });
  expect(await opened.engine.move(runId)).toMatchObject({ outcome: 'stops', stop });
  expect(await opened.journal.getRun(runId)).toMatchObject({ codeHash: 'old', movedAt: null });
});

const NO_CODE: [string, () => Error][] = [
  ['is kept nowhere', () => new CodeNotKeptError('It is nowhere.')],
  ['does not load', () => new Error('It has thrown.')],
];

test.each(NO_CODE)('a run whose code %s still waits for what it waited for before', async (_name, toError) => {
  const path = newJournalPath();
  const taken: unknown[] = [];
  const waiting: Code = {
    async order() {
      createHook({ token: 'beside' });
      const given = await createHook({ token: 'go' });
      taken.push(given);
      return ship();
    },
  };
  const first = await bench(path, waiting, { codeHash: 'old' });
  const runId = await park(first);
  await first.close();
  let newest: Code[string] = async () => {
    createHook({ token: 'beside' });
    createHook({ token: 'go' });
    return ship();
  };
  const opened = await bench(path, waiting, {
    codes: () => ['newest'],
    resolve: async ({ codeHash }) => {
      if (codeHash === 'old') throw toError();
      return { run: newest as never, codeHash: 'newest', durability: 'process' };
    },
    resolveNewest: async () => ({ run: newest as never, codeHash: 'newest', durability: 'process' }),
  });
  const isParked = async (epoch: number) => {
    const run = await opened.journal.getRun(runId);
    return run?.owner === null && run.epoch > epoch && run.waitingFor?.includes('"code"') === true;
  };
  for (const token of ['beside', 'go']) {
    const { epoch = 0 } = (await opened.journal.getRun(runId)) ?? {};
    await opened.engine.resumeHook(token, token);
    await until(() => isParked(epoch));
    const gone = { outcome: 'stops', stop: { code: 'wait_gone', recorded: 'await hook' } };
    expect(await opened.engine.move(runId)).toMatchObject(gone);
  }
  newest = waiting.order as Code[string];
  expect(await opened.engine.move(runId)).toMatchObject({ outcome: 'moved' });
  expect(await opened.engine.wait(runId, 10_000)).toMatchObject({ status: 'completed' });
  expect(taken).toEqual(['go']);
});

const UNANSWERED: [string, Code['order'], Code['order'], Record<string, unknown>][] = [
  [
    'an approval beside the one it waits for',
    () => Promise.all([requestApproval({ title: 'finance' }), requestApproval({ title: 'legal' })]),
    async () => [await requestApproval({ title: 'finance' }), await ship()],
    { code: 'code_changed', call: 2, called: null },
  ],
  [
    'a hook that was raced with a time',
    () => Promise.race([sleep('3 days'), createHook({ token: 'go' })]),
    async () => [await sleep('3 days'), await ship()],
    { code: 'code_changed', call: 1, recorded: 'hook', called: null },
  ],
  [
    'a step that has been answered beside the wait',
    () => Promise.all([requestApproval({ title: 'legal' }), ship()]),
    async () => requestApproval({ title: 'legal' }),
    { code: 'code_changed', call: 2, recorded: 'test.workflow.ts#ship', called: null },
  ],
];

test.each(UNANSWERED)('newest code that does not make %s stops', async (_name, old, newest, stop) => {
  const opened = await openEdited({ order: old as Code[string] }, { order: newest as Code[string] });
  const runId = await park(opened);
  expect(await opened.engine.move(runId)).toMatchObject({ outcome: 'stops', stop });
  expect(await opened.journal.getRun(runId)).toMatchObject({ codeHash: 'old', movedAt: null });
});

test('code that waits for what is no step is given up, and others are checked meanwhile', async () => {
  const opened = await openEdited(
    { ...order, nap: () => sleep('1h') },
    {
      async order() {
        await charge(100);
        await new Promise(() => {});
      },
      nap: () => sleep('1h'),
    },
  );
  const [stuck, nap] = [await park(opened), await park(opened, 'nap')];
  const [first, second] = await Promise.all([opened.engine.checkMove(stuck), opened.engine.checkMove(nap)]);
  expect(first).toMatchObject({ outcome: 'stops' });
  expect(second).toMatchObject({ outcome: 'safe' });
});

test('what happens between the judgement and the move keeps the run as it is', async () => {
  const path = newJournalPath();
  const first = await bench(path, order, { codeHash: 'old' });
  const runId = await park(first);
  await first.close();
  const { openSqliteJournal } = await import('../stores/sqlite/journal.ts');
  const opened = await bench(
    {
      async open() {
        const journal = await openSqliteJournal({ path });
        return wrapJournal(journal, async (name, call) => {
          // Another process takes it up in just that moment.
          if (name === 'moves.move') {
            await journal.hooks.resume('go', '[1]');
            await journal.claimRun(runId, { owner: 'other', leaseMs: 60_000 });
          }
          return call();
        });
      },
    },
    order,
    {
      codeHash: 'old',
      codes: () => ['newest'],
      resolveNewest: async () => ({ run: order.order as never, codeHash: 'newest', durability: 'process' }),
    },
  );
  expect(await opened.engine.move(runId)).toMatchObject({ outcome: 'busy' });
  expect(await opened.journal.getRun(runId)).toMatchObject({ codeHash: 'old', owner: 'other', movedAt: null });
});

test('of a run that another request has moved meanwhile it says that it has the code', async () => {
  const path = newJournalPath();
  const first = await bench(path, order, { codeHash: 'old' });
  const runId = await park(first);
  await first.close();
  const { openSqliteJournal } = await import('../stores/sqlite/journal.ts');
  const journal = await openSqliteJournal({ path });
  const twice = wrapJournal(journal, async (name, call) => {
    if (name === 'moves.move') await call();
    return call();
  });
  const opened = await bench({ open: async () => twice }, order, {
    codeHash: 'old',
    codes: () => ['newest'],
    resolveNewest: async () => ({ run: order.order as never, codeHash: 'newest', durability: 'process' }),
  });
  expect(await opened.engine.move(runId)).toMatchObject({ outcome: 'current', stop: null });
});

test('a check of a run that has not begun logs nothing', async () => {
  const opened = await openEdited(
    order,
    {
      async order() {
        codeLog.info('begins');
        return charge(100);
      },
    },
    { maxLive: 0 },
  );
  const { runId } = await opened.start('order');
  expect(await opened.engine.checkMove(runId)).toMatchObject({ outcome: 'safe' });
  expect(await opened.engine.checkMove(runId)).toMatchObject({ outcome: 'safe' });
  expect(opened.logged).toEqual([]);
});

test('a secret in what the newest code throws is not disclosed', async () => {
  const opened = await openEdited(
    order,
    {
      async order() {
        throw new Error('No tenant for s3cret.');
      },
    },
    { redact: (_input, text) => text.replaceAll('s3cret', '***') },
  );
  const { stop } = (await opened.engine.checkMove(await park(opened))) ?? {};
  expect(stop?.message).toContain('No tenant for ***.');
});

test('a run that another process has is busy before its history is read', async () => {
  const path = newJournalPath();
  const first = await bench(path, order, { codeHash: 'old' });
  const runId = await park(first);
  await first.close();
  const { openSqliteJournal } = await import('../stores/sqlite/journal.ts');
  let reads = 0;
  const journal = await openSqliteJournal({ path });
  await journal.hooks.resume('go', '[1]');
  await journal.claimRun(runId, { owner: 'other', leaseMs: 60_000 });
  const counted = wrapJournal(journal, (name, call) => {
    if (name === 'listRecords') reads += 1;
    return call();
  });
  const opened = await bench({ open: async () => counted }, order, {
    exclusive: false,
    codeHash: 'old',
    codes: () => ['newest'],
    resolveNewest: async () => ({ run: order.order as never, codeHash: 'newest', durability: 'process' }),
  });
  expect(await opened.engine.move(runId)).toMatchObject({ outcome: 'busy', stop: { code: 'run_busy' } });
  expect(reads).toBe(0);
  expect(await opened.engine.checkMove(runId)).toMatchObject({ outcome: 'safe' });
  expect(reads).toBeGreaterThan(0);
});

test('runs that have ended, and such as have the newest code, are not listed', async () => {
  const opened = await openEdited(order, order);
  const runId = await park(opened);
  expect((await opened.engine.listOld({ limit: 10 })).map((run) => run.runId)).toEqual([runId]);
  await opened.engine.cancel(runId, new Error('No more.'), { cleansUp: false });
  expect(await opened.engine.listOld({ limit: 10 })).toEqual([]);
  expect(await opened.engine.checkMove(runId)).toBeUndefined();
  expect(await opened.engine.move('none')).toBeUndefined();
});
