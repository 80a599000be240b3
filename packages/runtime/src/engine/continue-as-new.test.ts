import { expect, test } from 'vitest';
import { setAttributes } from './attributes.ts';
import { startWorkflow, startWorkflowAndWait } from './primitives/child-workflow.ts';
import { continueAsNew } from './primitives/continue-as-new.ts';
import { createHook } from './primitives/hook.ts';
import { sleep } from './primitives/sleep.ts';
import { errorOf, outputOf, step, until, useBenches } from './_setup.ts';
import type { Bench } from './_setup.ts';
import { describeOnStores } from './_stores.ts';

/** All runs of the bench, oldest first. */
async function listRuns({ journal }: Bench) {
  return (await journal.listRuns({}, { limit: 100 })).reverse();
}

describeOnStores('continueAsNew', (newPlace) => {
  const openBench = useBenches();

  test('ends the run and begins the next, and a caller that waits for the first gets what the last returns', async () => {
    const did: number[] = [];
    const note = step('note', (n: number) => void did.push(n));
    const bench = await openBench(newPlace(), {
      count: async ({ n }: { n: number }) => {
        setAttributes({ team: 'blue' });
        await note(n);
        if (n < 3) continueAsNew({ n: n + 1 });
        return `round ${n}`;
      },
    });
    const first = await bench.start('count', { n: 1 });
    const last = await bench.engine.wait(first.runId, 10_000);
    expect(outputOf(last)).toBe('round 3');
    expect(did).toStrictEqual([1, 2, 3]);
    const [a, b, c] = await listRuns(bench);
    expect(a).toMatchObject({ runId: first.runId, status: 'completed', continuedFrom: null, continuedTo: b?.runId });
    expect(b).toMatchObject({ status: 'completed', continuedFrom: a?.runId, continuedTo: c?.runId });
    expect(c).toMatchObject({ continuedFrom: b?.runId, continuedTo: null, attributes: '{"team":"blue"}', seq: 1 });
    expect(await bench.journal.getLastRun(first.runId)).toStrictEqual(last);
  });

  test('a parent waits for the last of the chain, and is waked once', async () => {
    const bench = await openBench(newPlace(), {
      parent: () => startWorkflowAndWait('child', 5),
      child: async (left: number) => (left > 0 ? continueAsNew(left - 1) : 'done'),
    });
    const run = await bench.run('parent');
    expect(outputOf(run)).toBe('done');
    expect(run.signals).toBe(0);
    expect((await bench.journal.getRun(run.runId))?.signals).toBe(1);
  });

  test('an open hook goes over with the payloads no one has taken, and one that is taken does not come again', async () => {
    const bench = await openBench(newPlace(), {
      inbox: async (seen: string[]) => {
        const hook = createHook<string>({ token: 'inbox' });
        const loop = hook[Symbol.asyncIterator]();
        const { value } = (await loop.next()) as { value: string };
        const all = [...seen, value];
        if (all.length < 4) continueAsNew(all);
        return all;
      },
    });
    const { runId } = await bench.start('inbox', []);
    await until(async () => (await bench.journal.hooks.find('inbox'))?.many === true);
    await Promise.all(['a', 'b', 'c', 'd'].map((text) => bench.engine.resumeHook('inbox', text)));
    const last = await bench.engine.wait(runId, 10_000);
    expect((outputOf(last) as string[]).toSorted()).toStrictEqual(['a', 'b', 'c', 'd']);
  });

  test('a resume that is sent again after the run has continued is known by its key', async () => {
    const bench = await openBench(newPlace(), {
      inbox: async (round: number) => {
        const value = (await createHook<string>({ token: 'keyed' })) as string;
        return round === 1 ? continueAsNew(2) : value;
      },
    });
    const { runId } = await bench.start('inbox', 1);
    await until(async () => (await bench.journal.hooks.find('keyed')) !== undefined);
    const options = { idempotency: { key: 'k', digest: 'd' } };
    expect(await bench.engine.resumeHook('keyed', 'one', options)).toMatchObject({ outcome: 'resumed' });
    await until(async () => (await bench.journal.getRun(runId))?.continuedTo != null);
    expect(await bench.engine.resumeHook('keyed', 'one', options)).toMatchObject({ outcome: 'repeated' });
    expect(await bench.engine.resumeHook('keyed', 'two')).toMatchObject({ outcome: 'resumed' });
    expect(outputOf(await bench.engine.wait(runId, 10_000))).toBe('two');
  });

  test('a payload that no one has taken is there when the next run makes the hook again, after it has waited for another', async () => {
    const bench = await openBench(newPlace(), {
      read: async (n: number): Promise<unknown> => {
        const go = await createHook({ token: `go ${n}` });
        const hook = createHook<string>({ token: 'inbox' });
        const mail = await hook[Symbol.asyncIterator]().next();
        if (n === 2) return [go, mail.value];
        await createHook({ token: 'on' });
        return continueAsNew(2);
      },
    });
    const { runId } = await bench.start('read', 1);
    const resume = async (token: string, payload: string): Promise<void> => {
      await until(async () => (await bench.journal.hooks.find(token))?.isOpen === true);
      await bench.engine.resumeHook(token, payload);
    };
    await resume('go 1', 'x');
    await resume('inbox', 'first');
    await bench.engine.resumeHook('inbox', 'second');
    await resume('on', 'y');
    await resume('go 2', 'z');
    expect(outputOf(await bench.engine.wait(runId, 10_000))).toStrictEqual(['z', 'second']);
  });

  test('the lock of a serial workflow goes to the next of the chain, not to the queue', async () => {
    const order: string[] = [];
    const note = step('note', (text: string) => void order.push(text));
    const bench = await openBench(newPlace(), {
      only: async ({ who, left }: { who: string; left: number }) => {
        await note(`${who}${left}`);
        if (left > 0) continueAsNew({ who, left: left - 1 });
      },
    });
    const serial = { key: 'one', whenTaken: 'queue' as const };
    await bench.create('only', { who: 'a', left: 3 }, { serial });
    await bench.create('only', { who: 'b', left: 0 }, { serial });
    await until(() => order.includes('b0'));
    expect(order).toStrictEqual(['a3', 'a2', 'a1', 'a0', 'b0']);
  });

  test('cancelling the first cancels the last, with the children of all rounds', async () => {
    const bench = await openBench(newPlace(), {
      round: async (n: number) => {
        await startWorkflow('child', n);
        if (n < 3) continueAsNew(n + 1);
        await sleep('1h');
      },
      child: () => sleep('1h'),
    });
    const { runId } = await bench.start('round', 1);
    const last = async () => bench.journal.getLastRun(runId);
    await until(async () => (await last())?.seq === 2);
    const children = (await listRuns(bench)).filter(({ name }) => name === 'child');
    expect(new Set(children.map(({ parentRunId }) => parentRunId))).toStrictEqual(new Set([(await last())?.runId]));
    expect(await bench.engine.cancel(runId, new Error('stop'))).toMatchObject({ outcome: 'cancelled' });
    const runs = await listRuns(bench);
    expect(runs.filter(({ name }) => name === 'child').map(({ status }) => status)).toStrictEqual(
      Array.from({ length: 3 }, () => 'cancelled'),
    );
    expect((await last())?.status).toBe('cancelled');
  });

  test('a process that dies at any append loses no round and makes none twice', async () => {
    const place = newPlace();
    for (let kills = 0; kills < 6; kills += 1) {
      let left = kills;
      let die = (): void => {};
      const dead = new Promise<void>((resolve) => (die = resolve));
      const code = {
        count: async (n: number): Promise<string> => (await tick(), n < 3 ? continueAsNew(n + 1) : `end ${kills}`),
      };
      const tick = step('tick', () => (left-- === 0 ? (die(), new Promise(() => {})) : undefined));
      const name = { codeHash: 'same' };
      const bench = await openBench(place, code, name);
      const { runId } = await bench.start('count', 1);
      await Promise.race([dead, bench.engine.wait(runId, 10_000)]);
      await bench.kill();
      left = -1;
      const again = await openBench(place, code, name);
      expect(outputOf(await again.engine.wait(runId, 10_000))).toBe(`end ${kills}`);
      const mine = (await listRuns(again)).slice(-3);
      expect(mine.map(({ continuedFrom }) => continuedFrom)).toStrictEqual([null, mine[0]?.runId, mine[1]?.runId]);
      await again.close();
    }
  });

  test('a catch that swallows it goes on, and an input that cannot be recorded fails the run', async () => {
    const bench = await openBench(newPlace(), {
      swallow: async () => {
        try {
          continueAsNew(1);
        } catch {
          return 'went on';
        }
      },
      bad: async () => continueAsNew({ f: () => 1 }),
    });
    expect(outputOf(await bench.run('swallow'))).toBe('went on');
    const bad = await bench.run('bad');
    expect(bad).toMatchObject({ status: 'failed', continuedTo: null });
    expect(errorOf(bad)?.message).toContain('input.f');
  });

  test('a run warns once at 80 % of its records, and what ends it at the limit names the way on', async () => {
    const tick = step('tick', () => 1);
    const bench = await openBench(
      newPlace(),
      {
        long: async () => {
          for (;;) await tick();
        },
      },
      { limits: { records: 20 } },
    );
    const run = await bench.run('long');
    expect(bench.logged).toStrictEqual([
      expect.stringMatching(/^warn The run has 16 records of the 20 .*continueAsNew/),
    ]);
    expect(errorOf(run)).toMatchObject({ code: 'run_journal_full', message: expect.stringContaining('continueAsNew') });
  });
});
