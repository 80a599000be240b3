import { expect, test } from 'vitest';
import { errorOf, goOnAfterKill, newJournalPath, outputOf, until, useBenches } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { startWorkflow } from './primitives/child-workflow.ts';
import { createHook } from './primitives/hook.ts';
import { createClosure, createStep, registerClosure } from './primitives/step.ts';
import { decode, decodeToShow, encode } from './serialize.ts';
import type { CodeRegistry } from './values/registry.ts';

// Step functions as values, as the compiler writes them.

const bench = useBenches();

const add = createStep('a.ts#add', async (a: number, b: number) => a + b);
const apply = createStep('a.ts#apply', async (fn: typeof add, ...args: [number, number]) => fn(...args));
const choose = createStep('a.ts#choose', async (name: string) => ({ add })[name]);
registerClosure('a.ts#go.times', (({ rate, list }: { rate: number; list: number[] }, times: unknown) => {
  return async (n: number) => {
    list.push(n);
    return [n * rate, list.length, typeof times];
  };
}) as never);
const timesOf = (closure: () => { rate: number; list: number[] }) =>
  createClosure('a.ts#go.times', closure) as unknown as (n: number) => Promise<unknown[]>;

function forget(id: string): () => void {
  const registry = (globalThis as unknown as Record<symbol, CodeRegistry>)[Symbol.for('svc.engine.registry')];
  const known = registry?.steps;
  const step = known?.get(id);
  known?.delete(id);
  return () => void (step && known?.set(id, step));
}

describeOnStores('a step function', (newPlace) => {
  test('is handed to a step and returned by one, before and after a kill', async () => {
    const place = newPlace();
    const code = {
      go: async () => {
        const before = await apply(add, 1, 2);
        const chosen = await choose('add');
        await createHook({ token: 'go-on' });
        return [before, await chosen?.(before, 4), await apply(chosen as typeof add, 5, 6)];
      },
    };
    const { second, runId } = await goOnAfterKill(bench, place, code);
    expect(outputOf(await second.engine.wait(runId, 10_000))).toEqual([3, 7, 11]);
    const steps = await second.journal.getRecords(runId);
    expect(steps.filter(({ event }) => event === 'done').map(({ stepId }) => stepId)).toContain('a.ts#add');
  });

  test('is what another run is started with', async () => {
    const box = await bench(newPlace(), {
      go: async () => (await startWorkflow('child', { args: [add] })).status,
      child: async ({ args: [fn] }: { args: [typeof add] }) => fn(20, 22),
    });
    const { runId } = await box.start('go');
    await box.engine.wait(runId, 10_000);
    await until(async () => (await box.journal.listRuns({ name: 'child' }, { limit: 1 }))[0]?.status === 'completed');
    expect(outputOf((await box.journal.listRuns({ name: 'child' }, { limit: 1 }))[0])).toBe(42);
  });

  test('that is gone blocks the run, with its id, wherever it is recorded', async () => {
    const place = newPlace();
    const code = {
      go: async () => {
        const chosen = await choose('add');
        await createHook({ token: 'go-on' });
        return chosen?.(1, 2);
      },
      take: async (fn: typeof add) => {
        await createHook({ token: 'take-on' });
        return fn(1, 2);
      },
    };
    const first = await bench(place, code);
    const one = await first.start('go');
    const other = await first.start('take', add);
    const stateOf = async (box: typeof first, runId: string) => await box.journal.getRun(runId);
    for (const { runId } of [one, other]) await until(async () => (await stateOf(first, runId))?.status === 'waiting');
    await first.kill();
    const bring = forget('a.ts#add');
    try {
      const second = await bench(place, code);
      await second.engine.resumeHook('go-on', 1);
      await second.engine.resumeHook('take-on', 1);
      for (const { runId } of [one, other]) {
        await until(async () => (await stateOf(second, runId))?.status === 'blocked');
        expect((await stateOf(second, runId))?.waitingFor).toContain('a.ts#add');
      }
      expect(decodeToShow(encode(1, 'x'))).toBe(1);
      expect(decodeToShow((await stateOf(second, other.runId))?.input ?? '')).toMatchObject({ id: 'a.ts#add' });
      bring();
      for (const { runId } of [one, other]) {
        await second.engine.unblock(runId);
        expect(outputOf(await second.engine.wait(runId, 10_000))).toBe(3);
      }
    } finally {
      bring();
    }
  });

  test('uses variables of the body as they are when it is called, as copies, before and after a kill', async () => {
    const place = newPlace();
    const code = {
      go: async () => {
        const list = [1];
        let rate = 2;
        const times = timesOf(() => ({ rate, list }));
        const first = await times(10);
        rate = 3;
        await createHook({ token: 'go-on' });
        return [first, await times(10), await apply(times as never, 4, 0), list.length];
      },
    };
    const { second, runId } = await goOnAfterKill(bench, place, code);
    const row = await second.engine.wait(runId, 10_000);
    expect(outputOf(row)).toEqual([[20, 2, 'function'], [30, 2, 'function'], [12, 2, 'function'], 1]);
  });
});

test('what a step uses and cannot be recorded is named, before the step begins', async () => {
  const box = await bench(newJournalPath(), {
    go: async () => timesOf(() => ({ rate: 1, list: [(() => 1) as never] }))(1),
  });
  expect(errorOf(await box.run('go'))).toMatchObject({
    code: 'not_serializable',
    message: expect.stringContaining('"go.times.closure.list[0]" cannot be recorded: it is a function') as string,
  });
});

test('is a function again where it is read, with its name', () => {
  expect(decode(encode({ add }, 'input'))).toEqual({ add });
});
