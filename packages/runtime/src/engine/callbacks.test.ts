import { expect, test, vi } from 'vitest';
import { newJournalPath, outputOf, step, until, useBenches } from './_setup.ts';
import type { Bench, Code, Place } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { bindCallback, bindNamed, bindStep } from './primitives/callback.ts';
import { createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';
import { installUnhandled } from './unhandled.ts';
import { registerStep } from './values/steps.ts';

const bench = useBenches();

/** As most limiters are: whoever ends calls the next one. */
function createLimiter(max: number) {
  let active = 0;
  const queue: (() => void)[] = [];
  return <T>(fn: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const begin = (): void => {
        active += 1;
        void fn()
          .then(resolve, reject)
          .finally(() => {
            active -= 1;
            queue.shift()?.();
          });
      };
      if (active < max) begin();
      else queue.push(begin);
    });
}

/** As `p-limit` takes a function and what it is called with. */
const createLimiterOf =
  (limit: ReturnType<typeof createLimiter>) =>
  <A, T>(fn: (given: A) => Promise<T>, given: A): Promise<T> =>
    limit(() => fn(given)) as Promise<T>;

const work = step('work', async (text: string) => {
  await new Promise((done) => setTimeout(done, 5));
  return text;
});

registerStep(work, 'work.ts#work');

const argsOf = async ({ journal }: Bench, runId: string): Promise<unknown[]> =>
  (await journal.getRecords(runId))
    .filter(({ kind, event }) => kind === 'step' && event === 'done')
    .map(({ output }) => JSON.parse(output?.slice(1) ?? '""') as unknown);

/**
 * Three runs of `go`, which wait for a hook once their work is done: what each has had done is its own, before a kill and after it.
 *
 * @param code made again for each life
 * @param listOf what the run of that name has done, in order
 */
async function checkShared(
  place: Place,
  code: () => Code,
  { listOf, isOrdered }: { listOf(name: string): string[]; isOrdered: boolean },
): Promise<void> {
  const names = ['A', 'B', 'C'];
  const first = await bench(place, code());
  const runs = await Promise.all(names.map((name) => first.start('go', name)));
  await until(async () => {
    const rows = await Promise.all(runs.map(({ runId }) => first.journal.getRun(runId)));
    return rows.every((row) => row?.status === 'waiting');
  });
  for (const [index, name] of names.entries()) {
    const done = await argsOf(first, runs[index]?.runId ?? '');
    expect(isOrdered ? done : done.toSorted()).toEqual(listOf(name));
  }
  await first.kill();
  const second = await bench(place, code());
  for (const [index, name] of names.entries()) {
    await second.engine.resumeHook(name, 'on');
    const row = await second.engine.wait(runs[index]?.runId ?? '', 10_000);
    expect(outputOf(row)).toEqual([listOf(name), 'on']);
  }
}

describeOnStores('a limiter that runs share', (newPlace) => {
  test('calls each function as part of the run that made it, live and on replay', async () => {
    const code = (): Code => {
      const limit = createLimiter(2);
      return {
        go: async (name: string) => {
          const all = await Promise.all([1, 2, 3, 4].map((n) => limit(bindCallback(() => work(name + n)))));
          return [all, await createHook({ token: name })];
        },
      };
    };
    await checkShared(newPlace(), code, { listOf: (name) => [1, 2, 3, 4].map((n) => name + n), isOrdered: false });
  });

  test.each(['a function with a name', 'a step, by its name'])(
    'calls %s as part of the run that hands it on, live and on replay',
    async (which) => {
      const isStep = which.startsWith('a step');
      const code = (): Code => {
        const limit = createLimiter(1);
        const limitOf = createLimiterOf(limit);
        return {
          go: async (name: string) => {
            const task = async () => work(`${name}0`);
            const all = [1, 2, 3].map((n) =>
              isStep ? limitOf(bindStep(work), `${name}${n}`) : limit(bindNamed(task)),
            );
            return [await Promise.all(all), await createHook({ token: name })];
          },
        };
      };
      const listOf = (name: string) => [1, 2, 3].map((n) => `${name}${isStep ? n : 0}`);
      await checkShared(newPlace(), code, { listOf, isOrdered: true });
    },
  );

  test('a function that is handed on by its name is one function, and a step can be recorded still', async () => {
    const listeners = new Set<unknown>();
    const call = step('call', async (given: typeof work) => given('called'));
    const { run } = await bench(newPlace(), {
      go: async () => {
        const task = async () => work('never');
        listeners.add(bindNamed(task));
        listeners.delete(bindNamed(task));
        expect(bindStep(3)).toBe(3);
        return [listeners.size, await call(bindStep(work))];
      },
    });
    expect(outputOf(await run('go'))).toEqual([0, 'called']);
  });

  test('gets back the place of a run that parks, and the run goes on', async () => {
    const limit = createLimiter(1);
    const { engine, start, journal } = await bench(
      newPlace(),
      {
        first: async () =>
          limit(
            bindCallback(async () => {
              const word = await createHook<string>({ token: 'word' });
              return work(word);
            }),
          ),
        second: async () => limit(bindCallback(() => work('second'))),
      },
      { limits: { parkAfter: 20 } },
    );
    const first = await start('first');
    await until(async () => (await journal.getRun(first.runId))?.status === 'waiting');
    const second = await start('second');
    expect(outputOf(await engine.wait(second.runId, 10_000))).toBe('second');
    await engine.resumeHook('word', 'first');
    expect(outputOf(await engine.wait(first.runId, 10_000))).toBe('first');
  });

  test('does not call what a cancelled run has left in its queue', async () => {
    const limit = createLimiter(1);
    let begun: string[] = [];
    let free = (): void => {};
    const freed = new Promise<void>((done) => (free = done));
    const note = step('note', async (text: string) => {
      begun.push(text);
      if (text === 'first') await freed;
      return text;
    });
    const { engine, start } = await bench(newPlace(), {
      go: async (text: string) => limit(bindCallback(() => note(text))),
    });
    begun = [];
    const first = await start('go', 'first');
    await until(() => begun.length === 1);
    const second = await start('go', 'second');
    const third = await start('go', 'third');
    await engine.cancel(second.runId, new Error('enough'));
    free();
    expect(outputOf(await engine.wait(third.runId, 10_000))).toBe('third');
    expect((await engine.wait(first.runId, 10_000))?.status).toBe('completed');
    expect((await engine.wait(second.runId, 10_000))?.status).toBe('cancelled');
    expect(begun).toEqual(['first', 'third']);
  });
});

test('a replay that waits for its turn in a limiter is not blocked, however long it takes', async () => {
  const path = newJournalPath();
  const code = (limit: ReturnType<typeof createLimiter>): Code => ({
    go: async () => [await limit(bindCallback(() => work('one'))), await createHook({ token: 'go-on' })],
  });
  const first = await bench(path, code(createLimiter(1)));
  const { runId } = await first.start('go');
  await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
  await first.kill();
  const limit = createLimiter(1);
  let free = (): void => {};
  void limit(() => new Promise<void>((done) => (free = done)));
  const second = await bench(path, code(limit), { limits: { patience: 100 } });
  await second.engine.resumeHook('go-on', 'on');
  await new Promise((done) => setTimeout(done, 500));
  expect((await second.journal.getRun(runId))?.status).not.toBe('blocked');
  // Its patience ends when the call has been made and has not come to its turn.
  await new Promise((done) => setImmediate(done));
  free();
  const since = performance.now();
  while (performance.now() - since < 150);
  expect(outputOf(await second.engine.wait(runId, 10_000))).toEqual(['one', 'on']);
});

test('a promise of a body that fails before it is awaited ends no process, and is in the log', async () => {
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  installUnhandled();
  const ended = vi.fn<() => void>();
  process.on('uncaughtException', ended);
  try {
    const broken = step('broken', () => Promise.reject(new Error('declined')), { maxRetries: 0 });
    const helper = async () => broken();
    const { run, logged } = await bench(newJournalPath(), {
      go: async () => {
        const check = helper();
        await sleep(50);
        return check.catch((error: Error) => error.message);
      },
    });
    expect(outputOf(await run('go'))).toBe('declined');
    expect(logged.filter((line) => line.startsWith('warn A promise failed'))).toEqual([
      'warn A promise failed before anything awaited it: Error: declined',
    ]);
    expect(ended).not.toHaveBeenCalled();
  } finally {
    process.removeAllListeners('unhandledRejection');
    for (const listener of others) process.on('unhandledRejection', listener);
    process.removeListener('uncaughtException', ended);
  }
});
