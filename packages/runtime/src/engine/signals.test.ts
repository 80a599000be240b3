import { describe, expect, test } from 'vitest';
import { errorOf, newJournalPath, openBench, outputOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { startWorkflow, startWorkflowAndWait } from './primitives/child-workflow.ts';
import { requestApproval } from './primitives/approval.ts';
import { bodyOf, createHook, createWebhook } from './primitives/hook.ts';
import { decode } from './serialize.ts';
import { sleep } from './primitives/sleep.ts';
import { getWritable } from './primitives/writable.ts';
import { listHooks } from './stores/contract/world.ts';

const bench = useBenches();

const waiting = (opened: Bench, runId: string) =>
  until(async () => (await opened.journal.getRun(runId))?.status === 'waiting');

describe('a hook', () => {
  test('parks the run until it is resumed, and gives it the payload', async () => {
    const opened = await bench(newJournalPath(), {
      wait: async () => createHook<{ ok: boolean }>({ token: 'order-1' }),
    });
    const { runId } = await opened.start('wait');
    await waiting(opened, runId);
    expect(JSON.parse((await opened.journal.getRun(runId))?.waitingFor ?? '')).toMatchObject({ type: 'hook' });
    expect((await opened.engine.resumeHook('order-1', { ok: true }))?.outcome).toBe('resumed');
    expect(outputOf(await opened.engine.wait(runId, 5_000))).toEqual({ ok: true });
  });

  test('resumed by fifty at once is resumed by one; the others get the first payload', async () => {
    const opened = await bench(newJournalPath(), { wait: async () => createHook({ token: 't' }) });
    const { runId } = await opened.start('wait');
    await waiting(opened, runId);
    const results = await Promise.all(Array.from({ length: 50 }, (_, n) => opened.engine.resumeHook('t', n)));
    expect(results.filter((result) => result?.outcome === 'resumed')).toHaveLength(1);
    const output = outputOf(await opened.engine.wait(runId, 5_000));
    for (const result of results) expect(result && 'event' in result && decode(result.event.payload)).toBe(output);
  });

  test('resumed while no process has the run is found by the next one', async () => {
    const path = newJournalPath();
    const code = { wait: async () => createHook({ token: 't' }) };
    const first = await openBench(path, code);
    const { runId } = await first.start('wait');
    await waiting(first, runId);
    await first.engine.close();
    await first.engine.resumeHook('t', 'late');
    await first.journal.close();
    const second = await bench(path, code);
    expect(outputOf(await second.engine.wait(runId, 5_000))).toBe('late');
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
    await waiting(opened, runId);
    for (const n of [1, 2, 3]) await opened.engine.resumeHook('many', n);
    expect(outputOf(await opened.engine.wait(runId, 5_000))).toEqual([1, 2, 3]);
  });

  test('with a token another run waits on is refused at the await', async () => {
    const opened = await bench(newJournalPath(), { wait: async () => createHook({ token: 'same' }) });
    const first = await opened.start('wait');
    await waiting(opened, first.runId);
    const second = await opened.run('wait');
    expect(errorOf(second)).toMatchObject({ code: 'hook_token_taken' });
    await opened.engine.resumeHook('same', 1);
    expect(outputOf(await opened.engine.wait(first.runId, 5_000))).toBe(1);
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
    await waiting(first, runId);
    const [hook] = await listHooks(first.journal, runId);
    await first.kill();
    const second = await bench(path, code);
    await second.engine.resumeHook(hook?.token ?? '', 'hello');
    expect(outputOf(await second.engine.wait(runId, 5_000))).toEqual([hook?.token, 'hello']);
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
    expect(outputOf(await opened.engine.wait(runId, 5_000))).toBe('back');
  });
});

describe('an approval', () => {
  const code = {
    ask: async (timeout: string | undefined) =>
      requestApproval({ title: 'Ship it?', payload: { n: 1 }, ...(timeout ? { timeout } : {}) }),
  };

  test('answers what was decided, by whom and with what', async () => {
    const opened = await bench(newJournalPath(), code);
    const { runId } = await opened.start('ask');
    await waiting(opened, runId);
    const [hook] = await listHooks(opened.journal, runId);
    const event = { decision: 'approve', by: 'ada', note: 'fine', input: null, timedOut: false };
    await opened.engine.resumeHook(hook?.token ?? '', event);
    expect(outputOf(await opened.engine.wait(runId, 5_000))).toEqual({ approved: true, ...event });
  });

  test('is decided by its fallback when the time is up, and a later decision says so', async () => {
    const opened = await bench(newJournalPath(), code);
    const { runId } = await opened.start('ask', '60ms');
    const row = await opened.engine.wait(runId, 5_000);
    expect(outputOf(row)).toMatchObject({ approved: false, decision: 'reject', by: null, timedOut: true });
    const [hook] = await listHooks(opened.journal, runId);
    expect((await opened.engine.resumeHook(hook?.token ?? '', {}))?.outcome).not.toBe('resumed');
  });

  test('that times out while no box runs is decided after the restart', async () => {
    const path = newJournalPath();
    const first = await bench(path, code);
    const { runId } = await first.start('ask', '80ms');
    await waiting(first, runId);
    await first.kill();
    const second = await bench(path, code);
    expect(outputOf(await second.engine.wait(runId, 5_000))).toMatchObject({ timedOut: true });
  });
});

describe('a child run', () => {
  const code = {
    double: async (n: number) => step('twice', (value: number) => value * 2)(n),
    parent: async (n: number) => [await startWorkflowAndWait('double', n), await startWorkflowAndWait('double', n + 1)],
    broken: async () => {
      throw new TypeError('no');
    },
    careful: async () =>
      startWorkflowAndWait('broken', null).catch((error: Error & { code?: string }) => ({
        code: error.code,
        cause: (error.cause as Error).message,
      })),
    napper: async () => sleep('1 hour'),
    starter: async () => {
      const { runId } = (await startWorkflow('napper', null)) as { runId: string };
      await sleep('1 hour');
      return runId;
    },
  };

  test('gives its output to the run that waits', async () => {
    const { run, journal } = await bench(newJournalPath(), code);
    const row = await run('parent', 5);
    expect(outputOf(row)).toEqual([10, 12]);
    expect(await journal.listRuns({ parentRunId: row.runId }, { limit: 10 })).toHaveLength(2);
  });

  test('that fails is thrown with its error as the cause', async () => {
    const { run } = await bench(newJournalPath(), code);
    expect(outputOf(await run('careful'))).toEqual({ code: 'child_failed', cause: 'no' });
  });

  test('is cancelled with its parent', async () => {
    const opened = await bench(newJournalPath(), code);
    const { runId } = await opened.start('starter');
    await waiting(opened, runId);
    await opened.engine.cancel(runId, new Error('enough'));
    const [child] = await opened.journal.listRuns({ parentRunId: runId }, { limit: 1 });
    expect(child?.status).toBe('cancelled');
    expect((await opened.engine.wait(runId, 1_000))?.status).toBe('cancelled');
  });

  test('that a cancelled parent had just asked for is cancelled, and one in the queue dropped', async () => {
    const opened = await bench(newJournalPath(), code);
    const { runId } = await opened.start('napper');
    await waiting(opened, runId);
    await opened.engine.cancel(runId, new Error('enough'));
    const late = runOf(await opened.create('napper', null, { parentRunId: runId }));
    expect((await opened.engine.wait(late.runId, 1_000))?.status).toBe('cancelled');
    const serial = { serial: { key: 'late', whenTaken: 'queue' as const } };
    await opened.create('napper', null, serial);
    await opened.create('napper', null, { parentRunId: runId, ...serial });
    expect(await opened.journal.queue.list({}, { limit: 5 })).toEqual([]);
  });

  test('that ended while its parent was on disk wakes the parent', async () => {
    const opened = await bench(
      newJournalPath(),
      {
        ...code,
        slow: async () => createHook({ token: 'child' }),
        waits: async () => startWorkflowAndWait('slow', null),
      },
      { limits: { parkAfter: 20 } },
    );
    const { runId } = await opened.start('waits');
    await until(
      async () =>
        (await opened.journal.getRun(runId))?.owner === null &&
        (await opened.journal.getRun(runId))?.status === 'waiting',
    );
    await opened.engine.resumeHook('child', 'done');
    expect(outputOf(await opened.engine.wait(runId, 5_000))).toBe('done');
  });
});

// Dropping a start has to signal its parent in the same commit; the engine's own poke reaches live runs only.
test('a parent that left memory is notified when the queued start it waits for is dropped', async () => {
  const lock = { serial: { key: 'lock', whenTaken: 'queue' as const } };
  const opened = await bench(
    newJournalPath(),
    {
      hold: async () => createHook({ token: 'hold' }),
      parent: async () => {
        const triggerId = await createHook<string>({ token: 'which' });
        const action = { type: 'child' as const, child: { triggerId } };
        return bodyOf('test').invoke({ kind: 'child', stepId: 'wait hold', input: '[1]', action });
      },
    },
    { limits: { parkAfter: 30 }, sweepMs: 50 },
  );
  await opened.create('hold', {}, lock);
  const parent = await opened.start('parent');
  const queued = await opened.create('hold', {}, { ...lock, parentRunId: parent.runId });
  if (queued.outcome !== 'queued') throw new Error(queued.outcome);
  await opened.engine.resumeHook('which', queued.triggerId);
  await until(async () => {
    const run = await opened.journal.getRun(parent.runId);
    return run?.owner === null && run.waitingFor?.includes('wait hold') === true;
  });
  expect(await opened.engine.dequeue(queued.triggerId)).toBe(true);
  expect(errorOf((await opened.engine.wait(parent.runId, 1_500)) as never)).toMatchObject({ code: 'child_gone' });
});

describe('a serial workflow', () => {
  const serial = { serial: { key: 'one', whenTaken: 'queue' as const } };

  test('runs one at a time, in the order of the starts', async () => {
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const work = step('work', async (n: number) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 3));
      order.push(n);
      running--;
    });
    const opened = await bench(newJournalPath(), { go: async (n: number) => work(n) });
    const results = [];
    for (let n = 0; n < 12; n++) results.push(await opened.create('go', n, serial));
    expect(results[0]?.outcome).toBe('created');
    expect(results.slice(1).every(({ outcome }) => outcome === 'queued')).toBe(true);
    await until(() => order.length === 12);
    expect(order).toEqual([...Array(12).keys()]);
    expect(most).toBe(1);
  });

  test('refuses a second start where that is asked', async () => {
    const opened = await bench(newJournalPath(), { go: async () => createHook({ token: 'x' }) });
    const first = runOf(await opened.create('go', null, serial));
    const second = await opened.create('go', null, { serial: { key: 'one', whenTaken: 'refuse' } });
    expect(second).toMatchObject({ outcome: 'refused', holder: { runId: first.runId } });
  });

  test('gives its lock on when the run is cancelled', async () => {
    const opened = await bench(newJournalPath(), {
      go: async (n: number) => (n === 0 ? createHook({ token: 'x' }) : n),
    });
    const first = runOf(await opened.create('go', 0, serial));
    const queued = await opened.create('go', 7, serial);
    await opened.engine.cancel(first.runId, new Error('next'));
    const triggerId = 'triggerId' in queued ? queued.triggerId : '';
    await until(async () => {
      const found = await opened.journal.queue.find(triggerId);
      return found !== undefined && 'run' in found && found.run.status === 'completed';
    });
  });
});

test('one idempotency key from fifty clients starts one run, and another input is refused', async () => {
  const opened = await bench(newJournalPath(), { go: async (n: number) => n });
  const results = await Promise.all(Array.from({ length: 50 }, () => opened.create('go', 1, { idempotencyKey: 'k' })));
  expect(new Set(results.map((result) => runOf(result).runId)).size).toBe(1);
  expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
  expect((await opened.create('go', 2, { idempotencyKey: 'k' })).outcome).toBe('idempotency_conflict');
});

describe('a retry', () => {
  test('keeps what was recorded before the step that failed, random numbers included', async () => {
    let works = false;
    const ran: string[] = [];
    const note = step('note', (text: string, id: string) => {
      ran.push(text);
      return id;
    });
    const fragile = step(
      'fragile',
      () => {
        ran.push('fragile');
        if (!works) throw new Error('not yet');
        return 'ok';
      },
      { maxRetries: 0 },
    );
    const opened = await bench(newJournalPath(), {
      go: async () => [await note('one', crypto.randomUUID()), await fragile()],
    });
    const failed = await opened.run('go');
    expect(failed.status).toBe('failed');
    works = true;
    const retried = runOf(await opened.engine.retry(failed, 'failed-step'));
    const row = await opened.engine.wait(retried.runId, 5_000);
    expect(row).toMatchObject({ status: 'completed', retryOf: failed.runId, trigger: 'retry' });
    expect(ran).toEqual(['one', 'fragile', 'fragile']);
  });

  test('from the start repeats everything', async () => {
    const ran: number[] = [];
    const opened = await bench(newJournalPath(), { go: async (n: number) => step('note', () => ran.push(n))() });
    const first = await opened.run('go', 3);
    await opened.engine.wait(runOf(await opened.engine.retry(first, 'start')).runId, 5_000);
    expect(ran).toEqual([3, 3]);
  });
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

test('what steps write to a stream is kept in order and by name', async () => {
  const say = step('say', async (to: WritableStream<string>, texts: string[]) => {
    const writer = to.getWriter();
    for (const text of texts) await writer.write(text);
    const other = getWritable<string>({ namespace: 'aside' }).getWriter();
    await other.write('psst');
  });
  const opened = await bench(newJournalPath(), { talk: async () => say(getWritable<string>(), ['a', 'b', 'c']) });
  const { runId } = await opened.run('talk');
  const chunks = await opened.journal.chunks.read(runId, 'default', { after: 0, limit: 10 });
  expect(chunks.map(({ payload }) => decode(payload))).toEqual(['a', 'b', 'c']);
  expect(await opened.journal.chunks.read(runId, 'aside', { after: 0, limit: 10 })).toHaveLength(1);
});
