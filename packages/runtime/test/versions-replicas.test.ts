import { expect, test } from 'vitest';
import { createCluster } from './_cluster.ts';
import { describeWhen, realServers } from './require.ts';
import { call, finish, setupBoxes, startWorkflow, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { createBuiltWorkspace } from './_versions.ts';

const boxes = setupBoxes();

const ORDER = (version: string) => `import { createHook } from '@svc/runtime';
async function step${version}(order: string) { 'use step'; return 'step-${version} ' + order; }
export async function order(input: { order: string }) {
  'use workflow';
  const first = await step${version}(input.order);
  await createHook({ token: 'go-' + input.order });
  return [first, await step${version}(input.order)];
}
`;
const ended = (version: string, order: string) => [`step-${version} ${order}`, `step-${version} ${order}`];

describeWhen(realServers.database, 'replicas with different builds', (database) => {
  /** Two builds of a workspace, and replicas of either on one journal. */
  async function rollout() {
    const workspace = createBuiltWorkspace();
    const built = {
      1: await workspace.build({ 'workflows/order.workflow.ts': ORDER('1') }),
      2: await workspace.build({ 'workflows/order.workflow.ts': ORDER('2') }),
    };
    const openOne = createCluster(boxes, { database, kv: '' });
    const open = (version: 1 | 2) =>
      openOne({ kv: null, engine: { sweepMs: 100, pollMs: 50 }, options: built[version].options });
    return open;
  }
  const park = async (box: TestBox, order: string): Promise<string> => {
    const runId = await startWorkflow(box, 'order', { order });
    await untilStatus(box, runId, 'waiting');
    return runId;
  };
  const resume = (box: TestBox, order: string) => call(box, `POST /api/workflows/hooks/go-${order}/resume`, {});

  test.each([
    [1, 2],
    [2, 1],
  ] as const)(
    '%i and then %i: each run ends on the code it began with, whichever replica is asked',
    async (one, two) => {
      const open = await rollout();
      const [first, second] = [await open(one), await open(two)];
      const runs = [
        { runId: await park(first, 'a'), order: 'a', version: one },
        { runId: await park(second, 'b'), order: 'b', version: two },
        { runId: await park(first, 'c'), order: 'c', version: one },
        { runId: await park(second, 'd'), order: 'd', version: two },
      ];
      // Both are up: each asks the other for its own.
      await resume(second, 'a');
      await resume(first, 'b');
      for (const { runId, version, order } of runs.slice(0, 2))
        expect(await finish(second, runId)).toMatchObject({
          status: 'completed',
          output: ended(String(version), order),
        });
      // The older one is gone, and has left a run.
      await first.shut();
      await resume(second, 'c');
      expect((await finish(second, runs[2]?.runId ?? '')).output).toEqual(ended(String(one), 'c'));
      // And back: the newer one is gone in turn.
      const back = await open(one);
      await second.shut();
      await resume(back, 'd');
      expect((await finish(back, runs[3]?.runId ?? '')).output).toEqual(ended(String(two), 'd'));
    },
  );
});
