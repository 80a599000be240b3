import { expect, test } from 'vitest';
import { goOnAfterKill, newJournalPath, outputOf, step, until, useBenches } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { startWorkflow } from './primitives/child-workflow.ts';
import { createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';

// Abort signals of a body, in its steps.

const bench = useBenches();

/** Resolves once the signal aborts; `begun` counts attempts. */
let begun = 0;
const watch = step('watch', async (signal: AbortSignal) => {
  begun += 1;
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  return String((signal.reason as Error)?.message ?? signal.reason);
});
const look = step('look', async (signal: AbortSignal) => [signal.aborted, signal.reason as unknown]);
const abortIt = step('abortIt', async (controller: AbortController, reason: string) => {
  controller.abort(reason);
  return controller.signal.aborted;
});
const abortAndFail = step('abortAndFail', async (controller: AbortController) => {
  controller.abort('broken');
  throw Object.assign(new Error('no'), { fatal: true });
});
let tries = 0;
const giveUp = step('giveUp', async (signal: AbortSignal) => {
  tries += 1;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  signal.throwIfAborted();
});

describeOnStores('an abort', (newPlace) => {
  test('in the body reaches a step that runs', async () => {
    const box = await bench(newPlace(), {
      go: async () => {
        const controller = new AbortController();
        const watching = watch(controller.signal);
        await sleep(5);
        controller.abort('late');
        return [await watching, await look(controller.signal)];
      },
    });
    expect(outputOf(await box.run('go'))).toEqual(['late', [true, 'late']]);
  });

  test('in the body reaches a step that another process runs again', async () => {
    const place = newPlace();
    const code = {
      go: async () => {
        const controller = new AbortController();
        const watching = watch(controller.signal);
        await createHook({ token: 'abort-it' });
        controller.abort('resumed');
        return await watching;
      },
    };
    const first = await bench(place, code);
    begun = 0;
    const { runId } = await first.start('go');
    await until(() => begun === 1);
    await until(async () => (await first.journal.hooks.find('abort-it')) !== undefined);
    await first.kill();
    const second = await bench(place, code);
    await until(() => begun === 2);
    await second.engine.resumeHook('abort-it', 1);
    expect(outputOf(await second.engine.wait(runId, 10_000))).toBe('resumed');
  });

  test('from a step reaches its siblings at once, and the body with its answer, before and after a kill', async () => {
    const place = newPlace();
    const seen: unknown[] = [];
    const code = {
      go: async () => {
        const controller = new AbortController();
        const order: string[] = [];
        controller.signal.addEventListener('abort', () => order.push('heard'));
        const both = await Promise.all([watch(controller.signal), abortIt(controller, 'from a step')]);
        order.push('answered');
        await createHook({ token: 'go-on' });
        seen.push([...order]);
        return [both, controller.signal.aborted, controller.signal.reason, await look(controller.signal)];
      },
    };
    const { second, runId } = await goOnAfterKill(bench, place, code);
    expect(outputOf(await second.engine.wait(runId, 10_000))).toEqual([
      ['from a step', true],
      true,
      'from a step',
      [true, 'from a step'],
    ]);
    expect(seen).toEqual([['heard', 'answered']]);
  });

  test('from a step that fails is reported all the same', async () => {
    const box = await bench(newPlace(), {
      go: async () => {
        const controller = new AbortController();
        const failed = await abortAndFail(controller).catch((error: Error) => error.message);
        return [failed, controller.signal.reason];
      },
    });
    expect(outputOf(await box.run('go'))).toEqual(['no', 'broken']);
  });

  test('before the call is there when the step begins, with its reason', async () => {
    const box = await bench(newPlace(), {
      go: async () => {
        const named = new AbortController();
        named.abort('before');
        const plain = AbortSignal.abort();
        const any = AbortSignal.any([new AbortController().signal, named.signal]);
        return [await look(named.signal), await watch(plain), await look(any)];
      },
    });
    const [named, plain, any] = outputOf(await box.run('go')) as unknown[];
    expect([named, any]).toEqual([
      [true, 'before'],
      [true, 'before'],
    ]);
    expect(plain).toMatch(/aborted/);
  });

  test('ends a step that gives up for good', async () => {
    tries = 0;
    const box = await bench(newPlace(), {
      go: async () => {
        const controller = new AbortController();
        const given = giveUp(controller.signal).catch((error: Error) => error.name);
        await sleep(5);
        controller.abort();
        return await given;
      },
    });
    expect(outputOf(await box.run('go'))).toBe('AbortError');
    expect(tries).toBe(1);
  });
});

test('a signal goes to no other run, and is the answer of none', async () => {
  const box = await bench(newJournalPath(), {
    start: async () => startWorkflow('other', { signal: new AbortController().signal }),
    answer: async () => new AbortController().signal,
  });
  expect((await box.run('start')).error).toContain('goes to its steps alone');
  expect((await box.run('answer')).error).toContain('from a body to its steps alone');
});
