import { describe, expect, test } from 'vitest';
import { errorOf, newJournalPath, outputOf, runOf, step, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import { FatalError } from './errors.ts';
import type { RunRow } from './journal/run.ts';
import { startWorkflow, startWorkflowAndWait, toWaitCall } from './primitives/child-workflow.ts';
import { bodyOf } from './primitives/hook.ts';
import { getStepMetadata } from './primitives/metadata.ts';

// What a retry from the failed step keeps, and what it does again.

const bench = useBenches();

async function retry({ engine }: Bench, run: RunRow): Promise<RunRow | undefined> {
  const { runId } = runOf(await engine.retry(run, 'failed-step'));
  return engine.wait(runId, 10_000);
}

describeOnStores('a retry from the failed step', (newPlace) => {
  test('keeps what succeeded, and the keys of the steps it executes again', async () => {
    const keys: string[] = [];
    let isBroken = true;
    const note = step('note', () => void keys.push(getStepMetadata().idempotencyKey));
    const charge = step('charge', () => {
      keys.push(getStepMetadata().idempotencyKey);
      if (isBroken) throw new FatalError('no funds');
      return 'paid';
    });
    const opened = await bench(newPlace(), {
      go: async () => {
        await note();
        return charge();
      },
    });
    const failed = await opened.run('go');
    const again = await retry(opened, failed);
    expect([failed.status, again?.status]).toEqual(['failed', 'failed']);
    isBroken = false;
    expect(outputOf(await retry(opened, again as RunRow))).toBe('paid');
    const [noted, ...charged] = keys;
    expect(noted).toBe(`${failed.runId}:0:note`);
    expect(charged).toEqual(Array.from({ length: 3 }, () => `${failed.runId}:1:charge`));
  });

  test('keeps a failure that the body caught, and what came after it', async () => {
    const calls: string[] = [];
    let isBroken = true;
    const named = (name: string, work: () => unknown = () => name) =>
      step(name, () => {
        calls.push(name);
        return work();
      });
    const lookup = named('lookup', () => {
      throw new FatalError('not found');
    });
    const [charge, mail] = [named('charge'), named('mail')];
    const opened = await bench(newPlace(), {
      go: async () => {
        await lookup().catch(() => {});
        await charge();
        await mail();
        if (isBroken) throw new Error('a fault of the body');
        return 'done';
      },
    });
    const failed = await opened.run('go');
    isBroken = false;
    expect(outputOf(await retry(opened, failed))).toBe('done');
    expect(calls).toEqual(['lookup', 'charge', 'mail']);
  });

  test('executes the step again whose error the body threw in another one', async () => {
    let isBroken = true;
    const calls: string[] = [];
    const charge = step('charge', () => {
      calls.push('charge');
      if (isBroken) throw new FatalError('no funds');
      return 'paid';
    });
    const opened = await bench(newPlace(), {
      go: async () => {
        try {
          return await charge();
        } catch (cause) {
          throw new Error('The order cannot be paid.', { cause });
        }
      },
    });
    const failed = await opened.run('go');
    isBroken = false;
    expect(outputOf(await retry(opened, failed))).toBe('paid');
    expect(calls).toEqual(['charge', 'charge']);
  });

  test('is warned of the compensations that have run', async () => {
    const calls: string[] = [];
    let isBroken = true;
    const reserve = step('reserve', () => void calls.push('reserve'));
    const charge = step('charge', () => {
      calls.push('charge');
      if (isBroken) throw new FatalError('no funds');
    });
    const release = step('release', () => void calls.push('release'));
    const go = async (): Promise<void> => {
      await reserve();
      try {
        await charge();
      } catch (error) {
        await release();
        throw error;
      }
    };
    const opened = await bench(newPlace(), { go });
    const failed = await opened.run('go');
    isBroken = false;
    const again = await retry(opened, failed);
    expect([again?.status, calls]).toEqual(['completed', ['reserve', 'charge', 'release', 'charge']]);
    expect(
      opened.logged.filter((line) => line.startsWith('warn') && line.includes('completed "release"')),
    ).toHaveLength(1);
  });

  test('keeps a step that was under way beside the one that failed', async () => {
    const calls: string[] = [];
    let isBroken = true;
    const slow = step('slow', async () => {
      calls.push('slow');
      await new Promise((resolve) => setTimeout(resolve, 60));
      return 'slow';
    });
    const quick = step('quick', async () => {
      calls.push('quick');
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (isBroken) throw new FatalError('no');
      return 'quick';
    });
    const undo = step('undo', () => void calls.push('undo'));
    const opened = await bench(newPlace(), {
      go: async () => {
        const all = [quick(), slow()] as const;
        try {
          return await Promise.all(all);
        } catch (error) {
          await all[1];
          await undo();
          throw error;
        }
      },
    });
    const failed = await opened.run('go');
    isBroken = false;
    expect(outputOf(await retry(opened, failed))).toEqual(['quick', 'slow']);
    expect(calls).toEqual(['quick', 'slow', 'undo', 'quick']);
  });

  test('keeps no compensation of a time in which the clock was set back', async () => {
    let isBroken = true;
    const charge = step('charge', () => {
      if (isBroken) throw new FatalError('no');
      return 'paid';
    });
    const undo = step('undo', () => {});
    let reads = 0;
    const startedAt = Date.now();
    // Each look at it is before the last one.
    const clock = { now: () => startedAt - (reads += 1), sync: async () => {} };
    const opened = await bench(
      newPlace(),
      {
        async go() {
          try {
            return await charge();
          } catch (error) {
            await undo();
            throw error;
          }
        },
      },
      { clock },
    );
    const failed = await opened.run('go');
    isBroken = false;
    expect(outputOf(await retry(opened, failed))).toBe('paid');
  });

  test.each(['body', 'step'])('restarts a child that has failed, and no other, in a %s', async (where) => {
    const calls: string[] = [];
    let isBroken = true;
    const note = step('note', (name: string) => {
      calls.push(name);
      if (name === 'bad' && isBroken) throw new FatalError('no');
      return name;
    });
    const both = async (): Promise<unknown[]> => [
      await startWorkflowAndWait('child', 'good'),
      await startWorkflowAndWait('child', 'bad'),
    ];
    const inStep = step('inStep', both, { maxRetries: 0 });
    const opened = await bench(newPlace(), {
      child: async (name: string) => note(name),
      body: both,
      step: async () => inStep(),
    });
    const failed = await opened.run(where);
    expect([failed.status, calls]).toEqual(['failed', ['good', 'bad']]);
    isBroken = false;
    const again = await retry(opened, failed);
    expect(errorOf(again)).toBeUndefined();
    expect(outputOf(again)).toEqual(['good', 'bad']);
    expect(calls).toEqual(['good', 'bad', 'bad']);
  });
});

describeOnStores('a retry of a child that has failed', (newPlace) => {
  test('keeps what was done between its start and the wait for it', async () => {
    const calls: string[] = [];
    let isBroken = true;
    const note = step('note', (name: string) => {
      calls.push(name);
      if (name === 'bad' && isBroken) throw new FatalError('no');
      return name;
    });
    const opened = await bench(newPlace(), {
      child: async (name: string) => note(name),
      async go() {
        const { runId } = (await startWorkflow('child', 'bad')) as { runId: string };
        await note('between');
        return bodyOf('go').invoke(toWaitCall('child', { runId }));
      },
    });
    const failed = await opened.run('go');
    expect(failed.status).toBe('failed');
    isBroken = false;
    const again = await retry(opened, failed);
    expect([again?.status, errorOf(again)]).toEqual(['completed', undefined]);
    expect(outputOf(again)).toBe('bad');
    expect(calls).toEqual(['bad', 'between', 'bad']);
  });
});

describeOnStores('the limit of records', (newPlace) => {
  test('is looked at before the effects', async () => {
    let effects = 0;
    const act = step('act', () => (effects += 1));
    const opened = await bench(
      newPlace(),
      { go: async () => Promise.all(Array.from({ length: 21 }, () => act())) },
      { limits: { records: 20 } },
    );
    const row = await opened.run('go');
    expect([row.status, errorOf(row), effects]).toMatchObject(['failed', { code: 'run_journal_full' }, 0]);
  });
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
