import { describe, expect, test } from 'vitest';
import { newRun } from '../src/engine/stores/contract/records.ts';
import { until } from './_setup.ts';
import { ask, at, begin, describeDeaths, finish, park, untilDead } from './_version-deaths.ts';
import type { Place } from './_version-deaths.ts';
import { createBuiltWorkspace } from './_versions.ts';

// Processes of deployed boxes that are killed while they keep, load or drop versions of code.

const ORDER = (version: string) => ({
  'workflows/order.workflow.ts': `import { createHook } from '@svc/runtime';
import { label } from '../lib/label.ts';
async function step${version}(order: string) { 'use step'; return label(order); }
export async function order(input: { order: string }) {
  'use workflow';
  const first = await step${version}(input.order);
  await createHook({ token: 'go-' + input.order });
  return [first, await step${version}(input.order)];
}
`,
  'lib/label.ts': `export const label = (text: string) => 'v${version} ' + text;\n`,
});

const KEEPING = [
  at('code.touch', 'before'),
  at('code.touch', 'after'),
  at('code.listMissing', 'after'),
  at('code.keep', 'before'),
  at('code.keep', 'after'),
];
const LOADING = [
  at('code.find', 'before'),
  at('code.find', 'after'),
  at('code.readFile', 'before'),
  at('code.readFile', 'after'),
  at('code.readFile', 'before', 2),
  at('code.readFile', 'after', 2),
];

describeDeaths('a box that is killed', describeKilled);

function describeKilled(openPlace: () => Promise<Place>): void {
  const build = async () => {
    const workspace = createBuiltWorkspace();
    const [one, two] = [await workspace.build(ORDER('1')), await workspace.build(ORDER('2'))];
    return { one: one.dir, two: two.dir };
  };

  test.each(KEEPING)('%s keeps its code at the next boot, before it takes a run', async (_, death) => {
    const [place, { one, two }] = [await openPlace(), await build()];
    // It dies at its boot, before it is ready.
    await expect(begin(place, one, death)).rejects.toThrow('The worker ended with null before it was ready.');
    const first = await begin(place, one);
    const runId = await park(first, 'a');
    await first.kill();
    const next = await begin(place, two);
    expect(await finish(next, runId, 'a')).toMatchObject({ status: 'completed', output: ['v1 a', 'v1 a'] });
  });

  test.each(LOADING)('%s of a run goes on by its own code in the next process', async (_, death) => {
    const [place, { one, two }] = [await openPlace(), await build()];
    const first = await begin(place, one);
    const runId = await park(first, 'a');
    await first.kill();
    const dying = await begin(place, two, death);
    await ask(dying, 'POST /api/workflows/hooks/go-a/resume', {}).catch(() => ({}));
    await untilDead(dying);
    const next = await begin(place, two);
    expect(await finish(next, runId, 'a')).toMatchObject({ status: 'completed', output: ['v1 a', 'v1 a'] });
    const again = await park(next, 'b');
    expect(await finish(next, again, 'b')).toMatchObject({ status: 'completed', output: ['v2 b', 'v2 b'] });
  });

  describe('at any moment, while it keeps versions and drops them', () => {
    test('leaves each version whole or not there, and never takes that of an open run', async () => {
      const place = await openPlace();
      const setup = await place.open();
      await setup.create(newRun({ codeHash: 'open', claim: null }));
      await setup.close();
      for (let life = 0; life < 8; life++) {
        const worker = await begin(place, 'churn');
        const lives = 20 + Math.random() * 400;
        await new Promise((resolve) => setTimeout(resolve, lives));
        await worker.kill();
        const journal = await place.open();
        for (const codeHash of ['open', 'v1', 'v2', 'v3']) {
          const found = await journal.code.find({ codeHash, name: 'w' });
          if (!found) continue;
          const digests = found.manifest.split(' ');
          const missing = await journal.code.listMissing(digests);
          // What lacks a file is not said to be kept: who serves it keeps it again.
          const isSaid = (await journal.code.touch([codeHash])).length > 0;
          expect([codeHash, missing, isSaid]).toEqual([codeHash, [], true]);
        }
        await journal.close();
      }
      const last = await begin(place, 'churn');
      const journal = await place.open();
      await until(async () => (await journal.code.touch(['open'])).length > 0);
      await last.kill();
      await journal.code.drop({ idleMs: -60_000 });
      expect(await journal.code.touch(['open', 'v1'])).toMatchObject([{ codeHash: 'open' }]);
      await journal.close();
    });
  });
}
