import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf, newJournalPath, openBench, outputOf, runOf, step, until, useBenches } from './_setup.ts';
import { FatalError, RetryableError } from './errors.ts';
import type { Journal } from './journal.ts';
import { getStepMetadata, getWorkflowMetadata } from './primitives/metadata.ts';
import { openSqliteJournal } from './stores/sqlite/journal.ts';

const bench = useBenches();

const quick = { backoff: { initial: 1 } };

describe('a run', () => {
  test('ends with what its body returns', async () => {
    const add = step('add', (a: number, b: number) => a + b);
    const { run } = await bench(newJournalPath(), { sum: async (n: number) => add(await add(n, 1), 10) });
    const row = await run('sum', 5);
    expect(row.status).toBe('completed');
    expect(outputOf(row)).toBe(16);
    expect(row.seq).toBe(2);
  });

  test('ends as failed with the error its body throws, name, message and code kept', async () => {
    const { run } = await bench(newJournalPath(), {
      fail: async () => {
        throw Object.assign(new TypeError('no such customer'), { code: 'no_customer' });
      },
    });
    const row = await run('fail');
    expect(row.status).toBe('failed');
    expect(errorOf(row)).toMatchObject({ name: 'TypeError', message: 'no such customer', code: 'no_customer' });
  });

  test('keeps dates, maps and bigints across a step', async () => {
    const make = step('make', () => ({ at: new Date(5), map: new Map([['a', 1n]]) }));
    const { run } = await bench(newJournalPath(), { values: async () => make() });
    expect(outputOf(await run('values'))).toEqual({ at: new Date(5), map: new Map([['a', 1n]]) });
  });

  test('fails at the call when an argument cannot be recorded, naming the path', async () => {
    const take = step('take', (_value: unknown) => 1);
    const { run } = await bench(newJournalPath(), { bad: async () => take({ user: { socket: () => {} } }) });
    expect(errorOf(await run('bad'))?.message).toMatch(
      /"take\.args\[0\]\.user\.socket" cannot be recorded: it is a function/,
    );
  });
});

describe('a step', () => {
  test('is tried again until it works, and each failed attempt is recorded', async () => {
    let attempts = 0;
    const flaky = step(
      'flaky',
      () => {
        attempts++;
        if (attempts < 3) throw new Error(`attempt ${attempts}`);
        return attempts;
      },
      quick,
    );
    const { run, journal } = await bench(newJournalPath(), { go: async () => flaky() });
    const row = await run('go');
    expect(outputOf(row)).toBe(3);
    const records = await journal.getRecords(row.runId);
    expect(records.map(({ event, attempt }) => [event, attempt])).toEqual([
      ['retry', 1],
      ['retry', 2],
      ['done', 3],
    ]);
  });

  test('fails for good after its retries, with the last error', async () => {
    let attempts = 0;
    const broken = step('broken', () => Promise.reject(new Error(`attempt ${++attempts}`)), {
      ...quick,
      maxRetries: 2,
    });
    const { run } = await bench(newJournalPath(), { go: async () => broken() });
    expect(errorOf(await run('go'))?.message).toBe('attempt 3');
  });

  test('is not tried again after a FatalError', async () => {
    let attempts = 0;
    const fatal = step(
      'fatal',
      () => {
        attempts++;
        throw new FatalError('never again');
      },
      quick,
    );
    const { run } = await bench(newJournalPath(), { go: async () => fatal().catch((error: Error) => error.message) });
    expect(outputOf(await run('go'))).toBe('never again');
    expect(attempts).toBe(1);
  });

  test('waits as long as a RetryableError says', async () => {
    const at: number[] = [];
    const later = step(
      'later',
      () => {
        at.push(performance.now());
        if (at.length === 1) throw new RetryableError('busy', { retryAfter: '150ms' });
      },
      { backoff: { initial: 1 } },
    );
    const { run } = await bench(newJournalPath(), { go: async () => later() });
    await run('go');
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(140);
  });

  test('is aborted and fails when an attempt takes longer than its timeout', async () => {
    let aborted = false;
    const slow = step(
      'slow',
      () =>
        new Promise((_, reject) => {
          getStepMetadata().signal.addEventListener('abort', () => {
            aborted = true;
            reject(new Error('late'));
          });
        }),
      { timeout: 20, maxRetries: 0 },
    );
    const { run } = await bench(newJournalPath(), { go: async () => slow() });
    expect(errorOf(await run('go'))).toMatchObject({ code: 'step_timeout' });
    expect(aborted).toBe(true);
  });

  test('may have a timeout longer than any timer', async () => {
    const wait = step('wait', () => new Promise((resolve) => setTimeout(() => resolve('done'), 20)), {
      timeout: '30 days',
      maxRetries: 0,
    });
    const { run } = await bench(newJournalPath(), { go: async () => wait() });
    expect(await run('go')).toMatchObject({ status: 'completed' });
  });

  test('listens to its signal beside many others, without a warning of Node', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const listening = step('listening', () => {
      const { signal } = getStepMetadata();
      return new Promise((resolve) => setTimeout(() => resolve(signal.aborted), 50));
    });
    const { run } = await bench(newJournalPath(), {
      go: async () => Promise.all(Array.from({ length: 20 }, () => listening())),
    });
    expect(outputOf(await run('go'))).toEqual(Array.from({ length: 20 }, () => false));
    expect(warnings).toEqual([]);
  });

  test('knows its attempt and an idempotency key that does not change', async () => {
    const keys: string[] = [];
    const keyed = step(
      'keyed',
      () => {
        const { attempt, idempotencyKey } = getStepMetadata();
        keys.push(idempotencyKey);
        if (attempt === 1) throw new Error('once');
        return getWorkflowMetadata().workflowRunId;
      },
      quick,
    );
    const { run } = await bench(newJournalPath(), { go: async () => keyed() });
    const row = await run('go');
    expect(outputOf(row)).toBe(row.runId);
    expect(keys).toEqual([`${row.runId}:0:keyed`, `${row.runId}:0:keyed`]);
  });
});

describe('after a kill', () => {
  test('recorded steps are not run again and the run goes on where it stopped', async () => {
    const path = newJournalPath();
    const ran: string[] = [];
    const note = step('note', (text: string) => {
      ran.push(text);
      return text;
    });
    let release = () => {};
    const gate = step('gate', () =>
      ran.includes('again') ? undefined : new Promise<void>((resolve) => (release = resolve)),
    );
    const code = { go: async () => [await note('one'), await note('two'), await gate(), await note('three')] };
    const first = await bench(path, code);
    const { runId } = await first.start('go');
    await until(() => ran.length === 2 && release !== undefined);
    await until(async () => (await first.journal.getRun(runId))?.seq === 2);
    await first.kill();
    ran.push('again');
    const second = await bench(path, code);
    const row = await second.engine.wait(runId, 5_000);
    expect(outputOf(row)).toEqual(['one', 'two', undefined, 'three']);
    expect(ran).toEqual(['one', 'two', 'again', 'three']);
    expect(row?.epoch).toBe(2);
  });

  test('a race has the same winner on replay, also when the other would be faster then', async () => {
    const path = newJournalPath();
    const second = { fast: false };
    const slow = step('slow', async () => {
      if (!second.fast) await new Promise((resolve) => setTimeout(resolve, 40));
      return 'slow';
    });
    const fast = step('fast', async () => 'fast');
    let release = () => {};
    const hold = step('hold', () => (second.fast ? undefined : new Promise<void>((resolve) => (release = resolve))));
    const code = {
      race: async () => {
        const a = slow();
        const b = fast();
        const winner = await Promise.race([a, b]);
        await Promise.all([a, b]);
        await hold();
        return winner;
      },
    };
    const first = await bench(path, code);
    const { runId } = await first.start('race');
    await until(async () => (await first.journal.getRun(runId))?.seq === 2);
    await first.kill();
    second.fast = true;
    release();
    const again = await bench(path, code);
    expect(outputOf(await again.engine.wait(runId, 5_000))).toBe('fast');
  });

  test('a step in flight is run again with the same key', async () => {
    const path = newJournalPath();
    const keys: string[] = [];
    const code = {
      go: async () =>
        step('work', () => {
          keys.push(getStepMetadata().idempotencyKey);
          return keys.length === 1 ? new Promise(() => {}) : keys.length;
        })(),
    };
    const first = await bench(path, code);
    const { runId } = await first.start('go');
    await until(() => keys.length === 1);
    await first.kill();
    const second = await bench(path, code);
    expect(outputOf(await second.engine.wait(runId, 5_000))).toBe(2);
    expect(keys[0]).toBe(keys[1]);
  });
});

describe('a body', () => {
  test('draws the same numbers, ids and times on replay', async () => {
    const path = newJournalPath();
    const seen: unknown[][] = [];
    let hold = true;
    const tick = step('tick', () => 1);
    const stop = step('stop', () => (hold ? new Promise(() => {}) : 1));
    const code = {
      draw: async () => {
        const drawn = [Math.random(), crypto.randomUUID(), Date.now()];
        await tick();
        drawn.push(new Date().getTime(), Math.random());
        seen.push(drawn);
        await stop();
        return drawn;
      },
    };
    const first = await bench(path, code);
    const { runId } = await first.start('draw');
    await until(async () => (await first.journal.getRun(runId))?.seq === 1);
    await first.kill();
    hold = false;
    const second = await bench(path, code);
    await second.engine.wait(runId, 5_000);
    expect(seen).toHaveLength(2);
    expect(seen[0]).toEqual(seen[1]);
  });

  test.each([
    ['setTimeout', () => setTimeout(() => {}, 1)],
    ['fetch', () => fetch('http://127.0.0.1:1')],
  ])('is refused %s with a sentence that says what to do', async (name, use) => {
    const { run } = await bench(newJournalPath(), { bad: async () => void use() });
    const row = await run('bad');
    expect(row.status).toBe('failed');
    expect(errorOf(row)?.message).toMatch(new RegExp(`^${name}\\(\\) cannot be used in a workflow body.*step\\.$`));
  });

  test('may use timers and the clock in a step', async () => {
    const real = step('real', async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return Date.now();
    });
    const { run } = await bench(newJournalPath(), { go: async () => real() });
    expect(Math.abs((outputOf(await run('go')) as number) - Date.now())).toBeLessThan(5_000);
  });
});

describe('changed code', () => {
  const block = async (changed: Record<string, unknown>, codeHash: string) => {
    const path = newJournalPath();
    let hold = true;
    const stop = step('stop', () => (hold ? new Promise(() => {}) : 1));
    const one = step('one', (n: number) => n);
    const first = await bench(path, { go: async () => [await one(1), await stop()] });
    const { runId } = await first.start('go');
    await until(async () => (await first.journal.getRun(runId))?.seq === 1);
    await first.kill();
    hold = false;
    const second = await bench(path, { go: changed.go as never }, { codeHash });
    await until(async () => ['blocked', 'completed'].includes((await second.journal.getRun(runId))?.status ?? ''));
    return (await second.journal.getRun(runId)) as { status: string; waitingFor: string | null };
  };

  test('parks the run as blocked and names both steps', async () => {
    const two = step('two', (n: number) => n);
    const row = await block({ go: async () => two(1) }, 'other');
    expect(row.status).toBe('blocked');
    expect(JSON.parse(row.waitingFor ?? '')).toMatchObject({
      code: 'code_changed',
      recorded: 'test.workflow.ts#one',
      called: 'test.workflow.ts#two',
    });
  });

  test('under the same hash is called nondeterministic', async () => {
    const one = step('one', (n: number) => n);
    const row = await block({ go: async () => one(2) }, 'hash');
    expect(JSON.parse(row.waitingFor ?? '')).toMatchObject({ code: 'nondeterministic_workflow' });
  });

  test('goes on when steps were added after the last record', async () => {
    const one = step('one', (n: number) => n);
    const more = step('more', () => 'more');
    const row = await block({ go: async () => [await one(1), await more()] }, 'other');
    expect(row.status).toBe('completed');
  });

  test('that leaves out a recorded step is blocked, not silently ended', async () => {
    const row = await block({ go: async () => 'done' }, 'other');
    expect(row.status).toBe('blocked');
  });

  test('a blocked run goes on once it is set free under the new code', async () => {
    const path = newJournalPath();
    let hold = true;
    const stop = step('stop', () => (hold ? new Promise(() => {}) : 1));
    const one = step('one', (n: number) => n);
    const two = step('two', (n: number) => n);
    const first = await bench(path, { go: async () => [await one(1), await stop()] });
    const { runId } = await first.start('go');
    await until(async () => (await first.journal.getRun(runId))?.seq === 1);
    await first.kill();
    hold = false;
    const code: Record<string, () => Promise<unknown>> = { go: async () => two(1) };
    const second = await bench(path, code, { codeHash: 'other' });
    await until(async () => (await second.journal.getRun(runId))?.status === 'blocked');
    code.go = async () => [await one(1), await stop()];
    expect(await second.engine.unblock(runId)).toBe(true);
    expect(outputOf(await second.engine.wait(runId, 5_000))).toEqual([1, 1]);
  });
});

describe('the engine', () => {
  test('ends a cancelled run at once and aborts its step', async () => {
    let aborted = false;
    let begun = false;
    const wait = step(
      'wait',
      () =>
        new Promise((_, reject) => {
          begun = true;
          getStepMetadata().signal.addEventListener('abort', () => {
            aborted = true;
            reject(new Error('aborted'));
          });
        }),
    );
    const { start, engine } = await bench(newJournalPath(), { go: async () => wait() });
    const { runId } = await start('go');
    await until(() => begun);
    await engine.cancel(runId, new Error('not needed'));
    expect((await engine.wait(runId, 1_000))?.status).toBe('cancelled');
    expect(aborted).toBe(true);
  });

  test('runs more than it holds in memory, the rest queued', async () => {
    const one = step('one', () => 1);
    const { start, engine } = await bench(newJournalPath(), { go: async () => one() }, { maxLive: 3 });
    const runs = await Promise.all(Array.from({ length: 20 }, () => start('go')));
    const rows = await Promise.all(runs.map(({ runId }) => engine.wait(runId, 10_000)));
    expect(rows.every((row) => row?.status === 'completed')).toBe(true);
  });

  test('leaves a run whose code cannot be loaded waiting, and runs it once it can', async () => {
    const path = newJournalPath();
    const first = await bench(path, { go: async () => step('hang', () => new Promise(() => {}))() });
    const { runId } = await first.start('go');
    await until(async () => (await first.engine.wait(runId, 0))?.status === 'running');
    await first.kill();
    const second = await bench(path, {});
    await until(async () => (await second.journal.getRun(runId))?.status === 'waiting');
    expect(JSON.parse((await second.journal.getRun(runId))?.waitingFor ?? '')).toMatchObject({ type: 'code' });
  });

  test('that can be neither loaded nor put off ends no process', async () => {
    const path = newJournalPath();
    const first = await bench(path, { go: async () => step('hang', () => new Promise(() => {}))() });
    const { runId } = await first.start('go');
    await until(async () => (await first.engine.wait(runId, 0))?.status === 'running');
    await first.kill();
    const journal = await openSqliteJournal({ path });
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', note);
    let refused = 0;
    const append = async () => {
      refused++;
      throw new Error('The store is gone.');
    };
    await bench(path, {}, { journal: { ...journal, append } });
    // The sweep tries again what the first time could not be stored.
    await until(() => refused >= 2);
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    await journal.close();
  });

  test('gives its runs back when it closes, so that the next one goes on at once', async () => {
    const path = newJournalPath();
    let hold = true;
    const stop = step('stop', () => (hold ? new Promise(() => {}) : 'done'));
    const code = { go: async () => stop() };
    const first = await openBench(path, code);
    const { runId } = await first.start('go');
    await until(async () => (await first.engine.wait(runId, 0))?.status === 'running');
    await first.engine.close();
    expect((await first.journal.getRun(runId))?.owner).toBe(null);
    await first.journal.close();
    hold = false;
    const second = await bench(path, code);
    expect(outputOf(await second.engine.wait(runId, 5_000))).toBe('done');
  });

  test('gives back a run whose start was under way when it closed', async () => {
    const path = newJournalPath();
    const journal = await openSqliteJournal({ path });
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const slow: Journal = { ...journal, create: (run) => journal.create(run).finally(() => answered) };
    const hang = step('hang', () => new Promise(() => {}));
    const { engine, create } = await openBench(path, { go: async () => hang() }, { journal: slow });
    const starting = create('go');
    await until(async () => (await journal.listRuns({}, { limit: 1 })).length === 1);
    const closing = engine.close();
    await expect(create('go')).rejects.toMatchObject({ code: 'shutting_down', details: { retryAfter: 1 } });
    answer();
    await closing;
    expect((await journal.getRun(runOf(await starting).runId))?.owner).toBe(null);
    await journal.close();
  });
});
