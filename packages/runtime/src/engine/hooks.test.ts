import { describe, expect, test } from 'vitest';
import { errorOf, outputOf, step, until, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { startWorkflowAndWait } from './primitives/child-workflow.ts';
import { createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';

const bench = useBenches();

async function resume({ engine }: Bench, token: string, payload: unknown): Promise<string | undefined> {
  return (await engine.resumeHook(token, payload))?.outcome;
}

async function isWaiting({ journal }: Bench, runId: string): Promise<boolean> {
  return (await journal.getRun(runId))?.status === 'waiting';
}

describeOnStores('a hook token that names nothing', (newPlace) => {
  test.each<[name: string, token: unknown]>([
    ['a number', 7],
    ['a list', ['a']],
    ['a date', new Date(0)],
    ['an empty text', ''],
    ['a text of 501 characters', 'x'.repeat(501)],
  ])('%s is refused where the hook is made, and the body may catch it', async (_, token) => {
    const note = step('note', (name: unknown) => name);
    const { run } = await bench(newPlace(), {
      go: async () => {
        try {
          await createHook({ token: token as string });
        } catch (error) {
          return note([(error as Error).name, (error as Error).message]);
        }
      },
    });
    const [name, message] = outputOf(await run('go')) as string[];
    expect(name).toBe('TypeError');
    expect(message).toMatch(/^The token of createHook\(\) is /);
  });

  test('one of 500 characters is a token', async () => {
    const place = newPlace();
    const token = 'x'.repeat(500);
    const { run, engine } = await bench(place, { go: async () => createHook({ token }) });
    void until(async () => (await engine.resumeHook(token, 'on'))?.outcome === 'resumed');
    expect(outputOf(await run('go'))).toBe('on');
  });
});

describeOnStores('a hook token used again in a run', (newPlace) => {
  /** Takes three messages, each through a hook of its own. */
  const loop = (handle: (message: unknown) => Promise<unknown>, isDisposed: boolean) => async () => {
    const got: unknown[] = [];
    for (let n = 0; n < 3; n++) {
      const hook = createHook({ token: 'inbox' });
      const message = await hook;
      if (isDisposed) hook.dispose();
      got.push(message);
      await handle(message);
    }
    return got;
  };

  test.each([false, true])(
    'takes the next resume each time (disposed: %s), also over a restart',
    async (isDisposed) => {
      const handled: unknown[] = [];
      const handle = step('handle', (message: unknown) => void handled.push(message));
      const place = newPlace();
      const code = { go: loop(handle, isDisposed) };
      const first = await bench(place, code);
      const { runId } = await first.start('go');
      await until(async () => (await resume(first, 'inbox', 'a')) === 'resumed');
      await until(() => handled.length === 1);
      // Until the run has made its next hook this one is answered with its one resume, or is closed.
      await until(async () => (await resume(first, 'inbox', 'b')) === 'resumed');
      await until(() => handled.length === 2);
      await until(async () => isWaiting(first, runId));
      await first.kill();
      const second = await bench(place, code);
      await until(async () => (await resume(second, 'inbox', 'c')) === 'resumed');
      expect(outputOf(await second.engine.wait(runId, 10_000))).toEqual(['a', 'b', 'c']);
      expect(handled).toEqual(['a', 'b', 'c']);
    },
  );

  test('keeps what has come in and was not taken for the hook that follows', async () => {
    const place = newPlace();
    const gate = step('gate', () => new Promise((resolve) => setTimeout(resolve, 40)));
    const opened = await bench(place, {
      go: async () => {
        const got: unknown[] = [];
        const first = createHook({ token: 'many' });
        for await (const message of first) {
          got.push(message);
          await gate();
          if (got.length === 2) break;
        }
        got.push(await createHook({ token: 'many' }), await createHook({ token: 'many' }));
        return got;
      },
    });
    const { runId } = await opened.start('go');
    await until(async () => (await resume(opened, 'many', 1)) === 'resumed');
    for (const n of [2, 3, 4]) expect(await resume(opened, 'many', n)).toBe('resumed');
    expect(outputOf(await opened.engine.wait(runId, 10_000))).toEqual([1, 2, 3, 4]);
  });
});

describeOnStores('a hook whose token another run has', (newPlace) => {
  const save = step('save', () => 1);
  const code = {
    holder: async () => createHook({ token: 'taken' }),
    atOnce: async () => createHook({ token: 'taken' }),
    later: async () => {
      const hook = createHook({ token: 'taken' });
      await save();
      return hook;
    },
    muchLater: async () => {
      const hook = createHook({ token: 'taken' });
      await sleep(80);
      return hook;
    },
    looped: async () => {
      const hook = createHook({ token: 'taken' });
      await save();
      for await (const message of hook) return message;
    },
  };

  test.each(['atOnce', 'later', 'muchLater', 'looped'])('is refused, awaited %s', async (name) => {
    const opened = await bench(newPlace(), code);
    const holder = await opened.start('holder');
    await until(async () => isWaiting(opened, holder.runId));
    const row = await opened.run(name);
    expect([row.status, errorOf(row)]).toMatchObject(['failed', { code: 'hook_token_taken' }]);
    expect(await resume(opened, 'taken', 'yes')).toBe('resumed');
    expect(outputOf(await opened.engine.wait(holder.runId, 10_000))).toBe('yes');
  });

  test('is refused after a crash between the two, and after the other run has ended', async () => {
    const place = newPlace();
    const first = await bench(place, code);
    const holder = await first.start('holder');
    await until(async () => isWaiting(first, holder.runId));
    const { runId } = await first.start('muchLater');
    await until(async () => isWaiting(first, runId));
    await first.kill();
    const second = await bench(place, code);
    expect(await resume(second, 'taken', 'yes')).toBe('resumed');
    expect(outputOf(await second.engine.wait(holder.runId, 10_000))).toBe('yes');
    expect(errorOf(await second.engine.wait(runId, 10_000))).toMatchObject({ code: 'hook_token_taken' });
  });
});

describeOnStores('a hook that is iterated', (newPlace) => {
  test('takes message 1,000 as fast as message 1', async () => {
    const at: number[] = [];
    const opened = await bench(newPlace(), {
      go: async () => {
        let n = 0;
        for await (const message of createHook({ token: 'stream' })) {
          at.push(performance.now());
          if (message === 'end') return n;
          n += 1;
        }
      },
    });
    const { runId } = await opened.start('go');
    // Where its run is slower than they come, a hook is full in between.
    const send = (message: unknown) => until(async () => (await resume(opened, 'stream', message)) === 'resumed');
    await send(0);
    for (let n = 1; n < 1_000; n += 50) await Promise.all(Array.from({ length: 50 }, (_, i) => send(n + i)));
    await send('end');
    expect(Number(outputOf(await opened.engine.wait(runId, 60_000)))).toBeGreaterThanOrEqual(1_000);
  });
});

describeOnStores('a hook that is resumed before it is awaited', (newPlace) => {
  test('has its resume, whatever the run has waited for in between', async () => {
    const opened = await bench(newPlace(), {
      go: async () => {
        const early = createHook<string>({ token: 'early' });
        const child = await startWorkflowAndWait('child', null);
        return [child, await early];
      },
      child: async () => createHook({ token: 'of-child' }),
    });
    const { runId } = await opened.start('go');
    await until(async () => (await resume(opened, 'early', 'word')) === 'resumed');
    await until(async () => (await resume(opened, 'of-child', 'end')) === 'resumed');
    expect(outputOf(await opened.engine.wait(runId, 5_000))).toEqual(['end', 'word']);
  });

  test('has the resume that its token was given after the last one was taken', async () => {
    const opened = await bench(newPlace(), {
      go: async () => {
        const first = createHook<number>({ token: 'again' });
        const taken = [await first, await first];
        await startWorkflowAndWait('child', null);
        return [...taken, await createHook<number>({ token: 'again' })];
      },
      child: async () => createHook({ token: 'of-child' }),
    });
    const { runId } = await opened.start('go');
    await until(async () => (await resume(opened, 'again', 1)) === 'resumed');
    await until(async () => (await resume(opened, 'again', 2)) === 'resumed');
    await until(async () => (await resume(opened, 'again', 3)) === 'resumed');
    await until(async () => (await resume(opened, 'of-child', 'end')) === 'resumed');
    expect(outputOf(await opened.engine.wait(runId, 5_000))).toEqual([1, 2, 3]);
  });
});

describe('a resume', () => {
  test('reads of the journal what the run waits for, not all that has come', async () => {
    const path = { current: 0 };
    const opened = await bench((await import('./_setup.ts')).newJournalPath(), {
      go: async () => {
        for await (const message of createHook({ token: 't' })) if (message === 299) return 'end';
      },
    });
    const read = opened.journal.hooks.listEvents;
    Object.assign(opened.journal.hooks, {
      listEvents: async (...args: Parameters<typeof read>) => {
        const found = await read(...args);
        path.current += found.events.length;
        return found;
      },
    });
    const { runId } = await opened.start('go');
    await until(async () => (await resume(opened, 't', 0)) === 'resumed');
    for (let n = 1; n < 300; n++) await resume(opened, 't', n);
    expect(outputOf(await opened.engine.wait(runId, 10_000))).toBe('end');
    expect(path.current).toBeLessThan(1_500);
  });
});
