import { expect, test } from 'vitest';
import { continueAsNew } from './primitives/continue-as-new.ts';
import { createHook } from './primitives/hook.ts';
import { publish } from './primitives/publish.ts';
import { stateOf } from './run/published-state.ts';
import { errorOf, outputOf, step, until, useBenches } from './_setup.ts';
import { describeOnStores } from './_stores.ts';

describeOnStores('publish', (newPlace) => {
  const openBench = useBenches();

  test('is read while the run waits and after, on another process too, and makes no record', async () => {
    const place = newPlace();
    const code = {
      ask: async () => {
        publish({ at: 'asking' });
        const answer = (await createHook<string>({ token: 'ask' })) as string;
        publish({ at: answer });
      },
    };
    const bench = await openBench(place, code, { exclusive: false });
    const other = await openBench(place, code, { exclusive: false });
    const { runId } = await bench.start('ask');
    const read = async () => stateOf((await other.journal.getRun(runId)) ?? { state: null });
    await until(async () => (await read()) !== undefined);
    expect(await read()).toStrictEqual({ at: 'asking' });
    const changed = other.engine.nextChange(runId);
    await bench.engine.resumeHook('ask', 'answered');
    await changed;
    const run = await other.engine.wait(runId, 10_000);
    expect(await read()).toStrictEqual({ at: 'answered' });
    const records = await other.journal.getRecords(runId);
    expect(records.map(({ kind, event }) => [kind, event])).toStrictEqual([
      ['hook', 'set'],
      ['hook', 'done'],
    ]);
    expect(run?.seq).toBe(2);
  });

  test('a replay publishes nothing again: what a step has published later stays', async () => {
    const place = newPlace();
    const seen: unknown[] = [];
    const late = step('late', () => publish('by the step'));
    const look = step('look', async () => {
      const row = await current.journal.getRun(runId);
      seen.push(stateOf(row ?? { state: null }));
    });
    const code = {
      ask: async () => {
        publish('by the body');
        await late();
        await createHook({ token: 'ask' });
        await look();
      },
    };
    const name = { codeHash: 'same' };
    let current = await openBench(place, code, name);
    const { runId } = await current.start('ask');
    await until(async () => (await current.journal.getRun(runId))?.status === 'waiting');
    await current.kill();
    current = await openBench(place, code, name);
    await current.engine.resumeHook('ask', 1);
    await current.engine.wait(runId, 10_000);
    expect(seen).toStrictEqual(['by the step']);
  });

  test('what it threw it throws on a replay too, to a body that goes on without', async () => {
    const place = newPlace();
    const note = step('note', (what: string) => what);
    const code = {
      ask: async () => {
        const refused: string[] = [];
        try {
          publish('x'.repeat(70_000));
        } catch {
          refused.push(await note('too large'));
        }
        return [...refused, await createHook<string>({ token: 'ask' })];
      },
    };
    const name = { codeHash: 'same' };
    const first = await openBench(place, code, name);
    const { runId } = await first.start('ask');
    await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
    await first.kill();
    const second = await openBench(place, code, name);
    await second.engine.resumeHook('ask', 'answered');
    const run = await second.engine.wait(runId, 10_000);
    expect([run?.status, outputOf(run)]).toStrictEqual(['completed', ['too large', 'answered']]);
  });

  test('the next run of a chain goes on with it, and a state that is too large fails where it is published', async () => {
    const bench = await openBench(newPlace(), {
      rounds: async (n: number) => (publish({ round: 1 }), n === 0 ? undefined : continueAsNew(n - 1)),
      large: async () => publish('x'.repeat(70_000)),
    });
    expect(stateOf(await bench.run('rounds', 2))).toStrictEqual({ round: 1 });
    expect(errorOf(await bench.run('large'))).toMatchObject({ code: 'state_too_large' });
  });
});
