import { expect, test } from 'vitest';
import { newJournalPath, outputOf, runOf, step, until, useBenches } from './_setup.ts';
import type { Code } from './_setup.ts';
import { describeOnStores } from './_stores.ts';
import type { Place } from './_setup.ts';
import { FatalError } from './errors.ts';
import { continueAsNew } from './primitives/continue-as-new.ts';
import { sleep } from './primitives/sleep.ts';
import { readVersion as version } from './primitives/version.ts';
import { encode } from './serialize.ts';

// Places at which code branches by version, with the code of a run exchanged while it waits.

const bench = useBenches();

const charge = step('charge', (what: string) => `charged ${what}`);
const ship = step('ship', () => 'shipped');

/** Starts `first`, kills its process while the run waits, and lets another one finish it with `then`. */
async function across(place: string | Place, first: Code['go'], then: Code['go']) {
  const one = await bench(place, { go: first as never }, { codeHash: 'one' });
  const { runId } = await one.start('go');
  await until(async () => (await one.journal.getRun(runId))?.status === 'waiting');
  await one.kill();
  const two = await bench(place, { go: then as never }, { codeHash: 'two' });
  const row = await two.engine.wait(runId, 10_000);
  return { row, records: await two.journal.getRecords(runId) };
}
const versionsOf = (records: readonly { stepId: string; output: string | null }[]) =>
  records.flatMap(({ stepId, output }) => (stepId.startsWith('version=') ? [[stepId.slice(8), output]] : []));

describeOnStores('svc.version', (newPlace) => {
  const before = async () => {
    const done = [await charge('net')];
    await sleep(500);
    return [...done, await ship()];
  };
  const branched = async () => {
    const done = [await charge(version('tax') >= 1 ? 'gross' : 'net')];
    await sleep(500);
    return [...done, version('parcel') ? 'sent' : await ship()];
  };

  test('is 0 where the run has been by code that did not ask, and the newest where it comes first', async () => {
    const { row, records } = await across(await newPlace(), before, branched);
    expect(outputOf(row)).toEqual(['charged net', 'sent']);
    expect(versionsOf(records)).toEqual([
      ['tax', encode(0, '')],
      ['parcel', encode(1, '')],
    ]);
  });

  test('is what was first recorded wherever the run goes on', async () => {
    const asks = (ask: () => unknown) => async () => {
      const first = [await charge('net'), ask()];
      await sleep(500);
      await sleep(500);
      return [...first, version('tax')];
    };
    const [none, one, two] = [asks(() => -1), asks(() => version('tax')), asks(() => version('tax', 2))];
    // Each process has the run for a moment; the one in the middle has recorded what the last one finds.
    const noted = (records: { stepId: string }[]) => records.some(({ stepId }) => stepId === 'version=tax');
    const place = await newPlace();
    const first = await bench(place, { go: none });
    const { runId } = await first.start('go');
    await until(async () => (await first.journal.getRun(runId))?.status === 'waiting');
    await first.kill();
    const second = await bench(place, { go: one });
    await until(async () => noted(await second.journal.getRecords(runId)));
    await second.kill();
    const third = await bench(place, { go: two });
    expect(outputOf(await third.engine.wait(runId, 10_000))).toEqual(['charged net', 0, 0]);
  });

  test('is taken out again without a trace: what is recorded of it is no call', async () => {
    const after = async () => {
      const done = [await charge('gross')];
      await sleep(500);
      return [...done, await ship()];
    };
    const first = async () => {
      const done = [await charge(version('tax') ? 'gross' : 'net')];
      await sleep(500);
      return [...done, await ship()];
    };
    expect(outputOf((await across(await newPlace(), first, after)).row)).toEqual(['charged gross', 'shipped']);
  });

  test('blocks a run that has a version the code does not know', async () => {
    const two = async () => {
      const found = version('tax', 2);
      await sleep(500);
      return found;
    };
    const one = async () => {
      const found = version('tax', 1);
      await sleep(500);
      return found;
    };
    const place = await newPlace();
    const opened = await bench(place, { go: two }, { codeHash: 'two' });
    const { runId } = await opened.start('go');
    await until(async () => (await opened.journal.getRun(runId))?.status === 'waiting');
    await opened.kill();
    const next = await bench(place, { go: one }, { codeHash: 'one' });
    await until(async () => (await next.journal.getRun(runId))?.status === 'blocked');
    expect((await next.journal.getRun(runId))?.waitingFor).toContain('has version 2 of \\"tax\\"; the code knows 1');
  });
});

test('beside another branch that has gone further, only what was passed is passed', async () => {
  const [a, b, c] = [step('a', () => 'a'), step('b', () => 'b'), step('c', () => 'c')];
  const body = (ask: () => number) => async () => {
    const slow = sleep(500).then(() => ask());
    const fast = (async () => [await a(), await b(), await c()])();
    return [await slow, await fast];
  };
  const { row } = await across(
    newJournalPath(),
    body(() => -1),
    body(() => version('late')),
  );
  expect(outputOf(row)).toEqual([1, ['a', 'b', 'c']]);
});

test('a retry from the failed step keeps the branch that led there, and a fork of an earlier step takes the newest', async () => {
  let fails = true;
  const pay = step('pay', (what: string) => {
    if (fails) throw new FatalError('declined');
    return `paid ${what}`;
  });
  const path = newJournalPath();
  const old = await bench(path, { go: async () => [await charge('net'), await pay('net')] }, { codeHash: 'old' });
  const failed = await old.run('go');
  await old.kill();
  fails = false;
  const branched = async () => {
    const first = await charge('net');
    const how = version('tax') ? 'gross' : 'net';
    return [first, await pay(how), version('tax')];
  };
  const next = await bench(path, { go: branched }, { codeHash: 'new' });
  const plan = await next.engine.planFork(failed, 1, { ends: false });
  const forked = runOf(
    await next.engine.fork(failed, { trigger: 'fork', plan, edited: encode({ args: ['edited'] }, 'pay') }),
  );
  expect(outputOf(await next.engine.wait(forked.runId, 10_000))).toEqual(['charged net', 'paid edited', 1]);
  const retried = runOf(await next.engine.retry(failed, 'failed-step'));
  // The step that failed is not kept, so the run comes to the place again.
  expect(outputOf(await next.engine.wait(retried.runId, 10_000))).toEqual(['charged net', 'paid gross', 1]);
});

test('the next run of a chain starts over', async () => {
  const go = async ({ n }: { n: number }): Promise<number> => {
    const found = version('tax', n);
    if (n === 1) return continueAsNew({ n: 2 });
    return found;
  };
  const { run } = await bench(newJournalPath(), { go: go as never });
  expect(outputOf(await run('go', { n: 1 }))).toBe(2);
});

test('a step, no run, other names and the name behind the hundredth are refused, each with what to do', async () => {
  expect(() => version('tax')).toThrow('Use svc.version in the body of a workflow.');
  const inStep = step('in a step', () => version('tax'));
  const { run } = await bench(newJournalPath(), {
    step: async () => inStep().catch((error: Error) => error.message),
    odd: async () => {
      const texts: string[] = [];
      const names = ['', 'a b', 'x'.repeat(101), 'ok'];
      for (const name of names)
        for (const newest of name === 'ok' ? [0, 1.5, 1_001] : [1])
          try {
            version(name, newest);
          } catch (error) {
            texts.push((error as Error).message);
          }
      return texts;
    },
    many: async () => {
      for (let n = 0; n < 100; n++) version(`n${n}`);
      version('n0');
      version('n100');
    },
  });
  expect(outputOf(await run('step'))).toContain('Ask there, and hand the answer to the step');
  expect(outputOf(await run('odd'))).toEqual([
    ...Array<string>(3).fill('svc.version() takes a name of 1 to 100 letters, digits and the characters . _ : / -'),
    ...Array<string>(3).fill('svc.version("ok") takes a whole number from 1 to 1000 as the newest version.'),
  ]);
  expect((await run('many')).error).toContain('takes 100 names in one run');
});
