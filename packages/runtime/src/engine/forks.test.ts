import { expect, test } from 'vitest';
import { outputOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { FatalError } from './errors.ts';
import type { RunRow } from './journal/run.ts';
import { startWorkflow, startWorkflowAndWait } from './primitives/child-workflow.ts';
import { createHook } from './primitives/hook.ts';
import { getStepMetadata } from './primitives/metadata.ts';
import { sleep } from './primitives/sleep.ts';
import { encode } from './serialize.ts';
import { wrapJournal } from './stores/wrap.ts';
import type { ForkOptions } from './worker/forks.ts';

// What a fork takes of the run it is made of, and what it does again.

const bench = useBenches();

async function begin(
  { engine }: Bench,
  run: RunRow,
  from: number | 'start',
  more: Partial<ForkOptions> = {},
): Promise<RunRow> {
  const trigger = more.trigger ?? 'fork';
  const plan = await engine.planFork(run, from, { ends: trigger === 'rewind' });
  return runOf(await engine.fork(run, { trigger, plan, ...more }));
}

async function fork(
  opened: Bench,
  run: RunRow,
  from: number | 'start',
  more: Partial<ForkOptions> = {},
): Promise<RunRow> {
  const { runId } = await begin(opened, run, from, more);
  return (await opened.engine.wait(runId, 10_000)) as RunRow;
}

/** Three steps, each given what the one before answered and something drawn. */
function makeOrder() {
  const calls: string[] = [];
  const keys: string[] = [];
  const named = (name: string) =>
    step(name, (given: string, drawn: number) => {
      calls.push(`${name}(${given})`);
      keys.push(getStepMetadata().idempotencyKey);
      return `${name}:${drawn}`;
    });
  const [reserve, charge, mail] = [named('reserve'), named('charge'), named('mail')];
  const go = async (given: string): Promise<string[]> => {
    const reserved = await reserve(given, Math.random());
    const charged = await charge('card', Math.random());
    return [reserved, charged, await mail('customer', Math.random())];
  };
  return { calls, keys, go };
}

describeOnStores('a fork', (newPlace) => {
  test('takes what came before the step, and executes the rest with keys of its own', async () => {
    const { calls, keys, go } = makeOrder();
    const opened = await bench(newPlace(), { go });
    const source = await opened.run('go', 'a');
    const forked = await fork(opened, source, 1);
    expect(calls).toEqual(['reserve(a)', 'charge(card)', 'mail(customer)', 'charge(card)', 'mail(customer)']);
    expect(forked).toMatchObject({ status: 'completed', trigger: 'fork', retryOf: source.runId, input: source.input });
    expect(keys.slice(3)).toEqual([`${forked.runId}:1:charge`, `${forked.runId}:2:mail`]);
    const [was, is] = [outputOf(source), outputOf(forked)] as [string[], string[]];
    // The step gets what it got; what is drawn behind it is another run's.
    expect(is.slice(0, 2)).toEqual(was.slice(0, 2));
    expect(is[2]).not.toBe(was[2]);
    expect(await opened.journal.getRun(source.runId)).toEqual(source);
  });

  test('of a fork, and its retry, keep what was drawn, and have keys of their own or of the first', async () => {
    let isBroken = false;
    const keys: string[] = [];
    const draw = step('draw', (drawn: number) => {
      keys.push(getStepMetadata().idempotencyKey);
      if (isBroken && keys.length > 5) throw new FatalError('no');
      return drawn;
    });
    const go = async () => [await draw(Math.random()), await draw(Math.random()), await draw(Math.random())];
    const opened = await bench(newPlace(), { go });
    const source = await opened.run('go');
    const first = await fork(opened, source, 1);
    isBroken = true;
    const second = await fork(opened, first, 2);
    expect(second.status).toBe('failed');
    isBroken = false;
    const retried = await opened.engine.wait(runOf(await opened.engine.retry(second, 'failed-step')).runId, 10_000);
    expect((outputOf(retried) as number[]).slice(0, 2)).toEqual((outputOf(first) as number[]).slice(0, 2));
    expect(keys.slice(3)).toEqual([
      `${first.runId}:1:draw`,
      `${first.runId}:2:draw`,
      `${second.runId}:2:draw`,
      `${second.runId}:2:draw`,
    ]);
  });

  test('gives the step other arguments, also after a kill and in a retry', async () => {
    const given: string[] = [];
    let isBroken = true;
    const charge = step('charge', (card: string) => void given.push(card));
    const ship = step('ship', () => {
      if (isBroken) throw new FatalError('no');
    });
    const place = newPlace();
    const go = async () => {
      await charge('old');
      await createHook({ token: 'go-on' });
      await ship();
      return 'done';
    };
    const opened = await bench(place, { go });
    const source = await opened.start('go');
    await until(async () => (await opened.journal.getRun(source.runId))?.status === 'waiting');
    await opened.engine.cancel(source.runId, new Error('no more'));
    const ended = (await opened.journal.getRun(source.runId)) as RunRow;
    const { runId } = await begin(opened, ended, 0, { edited: encode({ args: ['new'] }, 'charge') });
    await until(async () => (await opened.journal.getRun(runId))?.status === 'waiting');
    await opened.kill();
    const second = await bench(place, { go });
    await second.engine.resumeHook('go-on', 1);
    const failed = (await second.engine.wait(runId, 10_000)) as RunRow;
    expect([failed.status, given]).toEqual(['failed', ['old', 'new']]);
    isBroken = false;
    const retried = runOf(await second.engine.retry(failed, 'failed-step'));
    expect((await second.engine.wait(retried.runId, 10_000))?.status).toBe('completed');
    expect(given).toEqual(['old', 'new']);
    // Forked once more before the step, it is executed as the edit says.
    const again = await begin(second, failed, 0);
    await until(() => given.length === 3);
    expect([given.at(-1), (await second.journal.getRun(again.runId))?.trigger]).toEqual(['new', 'fork']);
    expect((await second.journal.getRecords(runId))[0]).toMatchObject({ call: 0, event: 'set', digest: '' });
  });

  test('from the start takes nothing, and may have another input', async () => {
    const { calls, go } = makeOrder();
    const opened = await bench(newPlace(), { go });
    const source = await opened.run('go', 'a');
    const forked = await fork(opened, source, 'start', { input: 'b' });
    expect(calls.slice(3)).toEqual(['reserve(b)', 'charge(card)', 'mail(customer)']);
    expect([forked.seed, forked.trigger]).toEqual([null, 'fork']);
    expect((outputOf(forked) as string[])[0]).not.toBe((outputOf(source) as string[])[0]);
  });

  test('keeps steps beside the chosen one that ended later, and not a time that came later', async () => {
    const calls: string[] = [];
    let open!: () => void;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const slow = step('slow', async () => {
      calls.push('slow');
      await gate;
      return 'slow';
    });
    const quick = step('quick', () => {
      calls.push('quick');
      return calls.length > 2 ? 'quick' : gate.then(() => 'quick');
    });
    const go = async () => {
      const beside = slow();
      const late = sleep(1_000).then(() => 'late');
      const first = await Promise.race([quick(), late]);
      open();
      return [first, await beside];
    };
    const opened = await bench(newPlace(), { go });
    const source = await opened.run('go');
    expect(outputOf(source)).toEqual(['late', 'slow']);
    // The time that won is still to come for the fork: the step is quicker now.
    const forked = await fork(opened, source, 2);
    expect([outputOf(forked), calls]).toEqual([
      ['quick', 'slow'],
      ['slow', 'quick', 'quick'],
    ]);
  });

  test('of a run that is open leaves it alone, and is warned of a hook that only one can have', async () => {
    const calls: string[] = [];
    const first = step('first', () => void calls.push('first'));
    const second = step('second', () => void calls.push('second'));
    const go = async () => {
      await first();
      const hook = createHook<string>();
      await second();
      return hook;
    };
    const opened = await bench(newPlace(), { go });
    const source = await opened.start('go');
    await until(async () => (await opened.journal.getRun(source.runId))?.status === 'waiting');
    const plan = await opened.engine.planFork(source, 2, { ends: false });
    expect(plan.heldHooks).toEqual([{ call: 1, isTaken: true, isOfSource: true }]);
    expect((await opened.engine.planFork(source, 1, { ends: false })).heldHooks).toEqual([]);
    expect((await opened.engine.planFork(source, 2, { ends: true })).heldHooks).toEqual([]);
    const { runId } = await begin(opened, source, 1);
    await until(async () => (await opened.journal.getRun(runId))?.status === 'waiting');
    const hooks = await opened.journal.hooks.listEntries({ kind: 'hook' }, { limit: 10 });
    expect(new Set(hooks.map(({ hook }) => hook.runId))).toEqual(new Set([source.runId, runId]));
    for (const { hook } of hooks) await opened.engine.resumeHook(hook.token, hook.runId);
    expect(outputOf(await opened.engine.wait(source.runId, 10_000))).toBe(source.runId);
    expect(outputOf(await opened.engine.wait(runId, 10_000))).toBe(runId);
    expect(calls).toEqual(['first', 'second', 'second']);
  });

  test('takes the output of a child that has ended, and starts its own of one that goes on', async () => {
    const begun: string[] = [];
    const note = step('note', (which: string) => void begun.push(which));
    const opened = await bench(newPlace(), {
      child: async (which: string) => {
        await note(which);
        if (which === 'long') await createHook({ token: `hook ${begun.length}` });
        return which;
      },
      go: async () => {
        const short = await startWorkflowAndWait('child', 'short');
        const long = startWorkflowAndWait('child', 'long');
        await note('between');
        return [short, await long];
      },
    });
    const source = await opened.start('go');
    await until(async () => (await opened.journal.getRun(source.runId))?.status === 'waiting' && begun.length === 3);
    // Calls: start and wait of the first, start of the second, note.
    const note3 = (await opened.journal.getRecords(source.runId)).find(({ stepId }) => stepId.endsWith('#note'));
    const { runId } = await begin(opened, source, note3?.call ?? -1);
    await until(() => begun.length === 5);
    expect(begun.filter((which) => which === 'short')).toHaveLength(1);
    expect(begun.filter((which) => which === 'long')).toHaveLength(2);
    await until(async () => (await opened.journal.hooks.listEntries({ kind: 'hook' }, { limit: 9 })).length === 2);
    for (const { hook } of await opened.journal.hooks.listEntries({ kind: 'hook' }, { limit: 9 }))
      await opened.engine.resumeHook(hook.token, 1);
    expect(outputOf(await opened.engine.wait(runId, 10_000))).toEqual(['short', 'long']);
  });

  test('keeps a child that has ended since the fork was planned', async () => {
    let children = 0;
    const note = step('note', (text: string) => text);
    const count = step('count', () => ++children);
    const opened = await bench(newPlace(), {
      child: async () => createHook({ token: `child ${await count()}` }),
      go: async () => {
        const answer = await startWorkflowAndWait('child', null);
        return [answer, await note('end'), await createHook({ token: 'go' })];
      },
    });
    const source = await opened.start('go');
    await until(async () => (await opened.journal.hooks.find('child 1')) !== undefined);
    const plan = await opened.engine.planFork(source, 2, { ends: false });
    await opened.engine.resumeHook('child 1', 'first');
    await until(async () => (await opened.journal.hooks.find('go')) !== undefined);
    await opened.engine.cancel(source.runId, new Error('Enough.'));
    const forked = runOf(await opened.engine.fork(source, { trigger: 'fork', plan }));
    await until(async () => (await opened.journal.getRun(forked.runId))?.status === 'waiting');
    await opened.engine.resumeHook('go', 'ended');
    expect(outputOf(await opened.engine.wait(forked.runId, 10_000))).toEqual(['first', 'end', 'ended']);
    expect(children).toBe(1);
  });

  test('keeps the start of a child that was left to go on by itself', async () => {
    const begun: string[] = [];
    const note = step('note', (which: string) => void begun.push(which));
    const opened = await bench(newPlace(), {
      child: async () => {
        await note('child');
        await createHook({ token: 'child' });
      },
      go: async () => {
        await startWorkflow('child', null, { parentClosePolicy: 'abandon' });
        await note('go');
      },
    });
    const source = await opened.run('go');
    await until(() => begun.length === 2);
    expect((await fork(opened, source, 1)).status).toBe('completed');
    expect(begun.filter((which) => which === 'child')).toHaveLength(1);
  });

  test('is whole or not there, and the same under its key', async () => {
    const { go, calls } = makeOrder();
    const opened = await bench(newPlace(), { go });
    const source = await opened.run('go', 'a');
    const idempotency = { key: 'k', digest: 'd' };
    const one = await begin(opened, source, 1, { idempotency });
    const other = await begin(opened, source, 1, { idempotency });
    expect(other.runId).toBe(one.runId);
    expect(await opened.engine.findFork(source, 'k')).toBe(one.runId);
    await opened.engine.wait(one.runId, 10_000);
    expect(calls).toHaveLength(5);
  });

  test('is planned again once the source has recorded more', async () => {
    const first = step('first', () => {});
    const go = async () => {
      await first();
      await createHook({ token: 'go-on' });
    };
    const opened = await bench(newPlace(), { go });
    const source = await opened.start('go');
    await until(async () => (await opened.journal.getRun(source.runId))?.status === 'waiting');
    const etags = async () => (await opened.engine.planFork(source, 0, { ends: false })).etag;
    const before = await etags();
    expect(await etags()).toBe(before);
    await opened.engine.resumeHook('go-on', 1);
    await opened.engine.wait(source.runId, 10_000);
    expect(await etags()).not.toBe(before);
  });

  test('of a process that dies at any call of the journal is whole, and goes on elsewhere, or is not there', async () => {
    const found = new Set<number>();
    for (let n = 1; n <= 8; n += 1) {
      const { calls, go } = makeOrder();
      const place = newPlace();
      let left = Infinity;
      const dying = { open: async () => wrapJournal(await place.open(), (_, call) => (--left < 0 ? NEVER : call())) };
      const first = await bench(dying, { go }, { sweepMs: 60_000 });
      const source = await first.run('go', 'a');
      left = n;
      let isOver = false;
      void fork(first, source, 1).then(
        () => (isOver = true),
        () => {},
      );
      await until(() => left < 0 || isOver);
      await first.kill();
      const second = await bench(place, { go });
      const forks = await second.journal.listRuns({ forkedFrom: source.runId }, { limit: 5 });
      found.add(forks.length);
      for (const { runId } of forks) {
        const forked = await second.engine.wait(runId, 10_000);
        expect((outputOf(forked) as string[]).slice(0, 2)).toEqual((outputOf(source) as string[]).slice(0, 2));
        expect(calls.filter((call) => call.startsWith('reserve'))).toHaveLength(1);
      }
    }
    expect([...found].toSorted()).toEqual([0, 1]);
  });
});

const NEVER = new Promise<never>(() => {});
