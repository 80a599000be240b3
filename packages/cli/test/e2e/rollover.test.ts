import { expect, it } from 'vitest';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { send, SLOW_MS, useDeployed } from './_deployed.ts';
import type { Deployed } from './_deployed.ts';
import { eventually, useRig } from './_setup.ts';

// Two processes with two builds on one PostgreSQL and one Redis, one after the other and back.

const rig = useRig();

const ORDER = (version: string) => ({
  'lib/label.ts': `export const label = (text: string) => 'label-${version} ' + text;\n`,
  'workflows/order.workflow.ts': `import { createHook } from '@svc/runtime';
import { label } from '../lib/label.ts';
async function charge${version}(order: string) { 'use step'; return 'charge-${version} ' + label(order); }
async function ship${version}(order: string) { 'use step'; return 'ship-${version} ' + label(order); }
export async function order(input: { order: string }) {
  'use workflow';
  const done = [await charge${version}(input.order)];
  await createHook({ token: 'go-' + input.order });
  return [...done, await ship${version}(input.order)];
}
`,
});
const ended = (version: string, order: string) => [
  `charge-${version} label-${version} ${order}`,
  `ship-${version} label-${version} ${order}`,
];

describeWhen(bothServers, 'two builds, each in a process of its own', (servers) => {
  const { build, makeEnv, boot } = useDeployed(rig, servers, ORDER('1'));

  const start = async (box: Deployed, order: string): Promise<string> => {
    const { body } = await send<{ runId: string }>(box, 'POST /api/workflows/order/start', { body: { order } });
    await eventually(async () => (await box.run(body.runId)).status === 'waiting');
    return body.runId;
  };
  const resume = (box: Deployed, order: string) => send(box, `POST /api/workflows/hooks/go-${order}/resume`);
  const stop = async (box: Deployed) => expect((await box.stop('SIGTERM')).code).toBe(0);

  it.each([
    ['1', '2'],
    ['2', '1'],
  ])(
    '%s, joined by %s, and back: each run ends on the code it began with',
    async (one, two) => {
      const [env, second] = [await makeEnv(), await build(ORDER('2'))];
      const open = (version: string) => boot({ env, ...(version === '2' ? { dir: second } : {}) });
      const a = await open(one);
      const first = { a: await start(a, 'a'), b: await start(a, 'b'), c: await start(a, 'c') };
      const b = await open(two);
      const later = { d: await start(b, 'd'), e: await start(b, 'e') };
      // Both are up, and each is asked for what is the other's.
      await resume(b, 'a');
      await resume(a, 'd');
      expect(await b.finish(first.a)).toMatchObject({ status: 'completed', output: ended(one, 'a') });
      expect(await a.finish(later.d)).toMatchObject({ status: 'completed', output: ended(two, 'd') });
      await stop(a);
      await resume(b, 'b');
      expect(await b.finish(first.b)).toMatchObject({ status: 'completed', output: ended(one, 'b') });
      const back = await open(one);
      await stop(b);
      for (const order of ['c', 'e']) await resume(back, order);
      expect(await back.finish(first.c)).toMatchObject({ status: 'completed', output: ended(one, 'c') });
      expect(await back.finish(later.e)).toMatchObject({ status: 'completed', output: ended(two, 'e') });
      await stop(back);
    },
    SLOW_MS,
  );
});
