import { describe, expect, test } from 'vitest';
import { errorOf, newJournalPath, openBench, outputOf, step, until, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { startWorkflowAndWait } from './primitives/child-workflow.ts';
import { createHook, createWebhook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';
import { decode } from './serialize.ts';
import { listHooks } from './stores/contract/world.ts';

const bench = useBenches();

async function resume({ engine }: Bench, token: string, payload: unknown): Promise<string | undefined> {
  return (await engine.resumeHook(token, payload))?.outcome;
}

async function isWaiting({ journal }: Bench, runId: string): Promise<boolean> {
  return (await journal.getRun(runId))?.status === 'waiting';
}

describe('a hook', () => {
  test('parks the run until it is resumed, and gives it the payload', async () => {
    const opened = await bench(newJournalPath(), {
      wait: async () => createHook<{ ok: boolean }>({ token: 'order-1' }),
    });
    const { runId } = await opened.start('wait');
    await until(() => isWaiting(opened, runId));
    expect(JSON.parse((await opened.journal.getRun(runId))?.waitingFor ?? '')).toMatchObject({ type: 'hook' });
    expect((await opened.engine.resumeHook('order-1', { ok: true }))?.outcome).toBe('resumed');
    expect(outputOf(await opened.engine.wait(runId, 20_000))).toEqual({ ok: true });
  });

  test('resumed by fifty at once is resumed by one; the others get the first payload', async () => {
    const opened = await bench(newJournalPath(), { wait: async () => createHook({ token: 't' }) });
    const { runId } = await opened.start('wait');
    await until(() => isWaiting(opened, runId));
    const results = await Promise.all(Array.from({ length: 50 }, (_, n) => opened.engine.resumeHook('t', n)));
    expect(results.filter((result) => result?.outcome === 'resumed')).toHaveLength(1);
    const output = outputOf(await opened.engine.wait(runId, 20_000));
    for (const result of results) expect(result && 'event' in result && decode(result.event.payload)).toBe(output);
  });

  test('resumed while no process has the run is found by the next one', async () => {
    const path = newJournalPath();
    const code = { wait: async () => createHook({ token: 't' }) };
    const first = await openBench(path, code);
    const { runId } = await first.start('wait');
    await until(() => isWaiting(first, runId));
    await first.engine.close();
    await first.engine.resumeHook('t', 'late');
    await first.journal.close();
    const second = await bench(path, code);
    expect(outputOf(await second.engine.wait(runId, 20_000))).toBe('late');
  });

  test('iterated gives every resume in order, also those that came before the loop asked', async () => {
    const slow = step('slow', (n: number) => new Promise<number>((resolve) => setTimeout(() => resolve(n), 10)));
    const opened = await bench(newJournalPath(), {
      collect: async () => {
        const seen: number[] = [];
        for await (const n of createHook<number>({ token: 'many' })) {
          seen.push(await slow(n));
          if (seen.length === 3) return seen;
        }
      },
    });
    const { runId } = await opened.start('collect');
    await until(() => isWaiting(opened, runId));
    for (const n of [1, 2, 3]) await opened.engine.resumeHook('many', n);
    expect(outputOf(await opened.engine.wait(runId, 20_000))).toEqual([1, 2, 3]);
  });

  test('with a token another run waits on is refused at the await', async () => {
    const opened = await bench(newJournalPath(), { wait: async () => createHook({ token: 'same' }) });
    const first = await opened.start('wait');
    await until(() => isWaiting(opened, first.runId));
    const second = await opened.run('wait');
    expect(errorOf(second)).toMatchObject({ code: 'hook_token_taken' });
    await opened.engine.resumeHook('same', 1);
    expect(outputOf(await opened.engine.wait(first.runId, 20_000))).toBe(1);
  });

  test('keeps its token over a restart when the engine drew it', async () => {
    const path = newJournalPath();
    const code = {
      wait: async () => {
        const hook = createWebhook();
        return [hook.token, await hook];
      },
    };
    const first = await bench(path, code);
    const { runId } = await first.start('wait');
    await until(() => isWaiting(first, runId));
    const [hook] = await listHooks(first.journal, runId);
    await first.kill();
    const second = await bench(path, code);
    await second.engine.resumeHook(hook?.token ?? '', 'hello');
    expect(outputOf(await second.engine.wait(runId, 20_000))).toEqual([hook?.token, 'hello']);
  });

  test('leaves memory when nothing comes, and is taken up again by its resume', async () => {
    const opened = await bench(
      newJournalPath(),
      { wait: async () => createHook({ token: 't' }) },
      { limits: { parkAfter: 30 } },
    );
    const { runId } = await opened.start('wait');
    await until(async () => (await opened.journal.getRun(runId))?.owner === null);
    await opened.engine.resumeHook('t', 'back');
    expect(outputOf(await opened.engine.wait(runId, 20_000))).toBe('back');
  });
});

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
    let isSent = false;
    const gate = step('gate', () => until(() => isSent));
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
    isSent = true;
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
  test('takes message 400 as fast as message 1', async () => {
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
    for (let n = 1; n < 400; n += 50) await Promise.all(Array.from({ length: 50 }, (_, i) => send(n + i)));
    await send('end');
    expect(Number(outputOf(await opened.engine.wait(runId, 60_000)))).toBeGreaterThanOrEqual(400);
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
    expect(outputOf(await opened.engine.wait(runId, 20_000))).toEqual(['end', 'word']);
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
    expect(outputOf(await opened.engine.wait(runId, 20_000))).toEqual([1, 2, 3]);
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
