import { describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { UTF8 } from './_setup.ts';
import { startQuietDev } from './_quiet-dev.ts';
import { SLOW_MS } from './_schema-dev.ts';
import { eventually, useRig } from './e2e/_setup.ts';
import type { Workspace } from './e2e/_setup.ts';

const rig = useRig();
const SOON = { within: 30_000 };

const ORDER = (version: string, step = 'charge') => `import { createHook } from '@svc/runtime';
import { z } from 'zod';
import { label } from '../lib/label.ts';
export const inputSchema = z.object({ order: z.string() });
async function ${step}(order: string) {
  'use step';
  return '${step}-${version} ' + label(order);
}
export async function order(input: z.infer<typeof inputSchema>) {
  'use workflow';
  const first = await ${step}(input.order);
  await createHook({ token: 'go-' + input.order });
  const close = async () => { 'use step'; return 'close-${version} ' + label(input.order); };
  return [first, await close()];
}
`;
const LABEL = (version: string) => `export const label = (text: string) => '${version}(' + text + ')';\n`;
const V1 = { 'workflows/order.workflow.ts': ORDER('1'), 'lib/label.ts': LABEL('1') };

async function boot(workspace: Workspace) {
  const server = await startQuietDev(rig, workspace);
  const api = `${server.payload.agent_url}/api`;
  const send = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return (await fetch(`${api}${path}`, body ? init : {})).json() as never;
  };
  const statusOf = async (runId: string) => (await send(`/runs/${runId}`)).status;
  return {
    ...server,
    finish: async (runId: string) => send(`/runs/${runId}?wait=20s`),
    names: async () => ((await send('/workflows')).items as { name: string }[]).map(({ name }) => name),
    resume: (order: string) => send(`/workflows/hooks/go-${order}/resume`, {}),
    /** A run that waits, once it does. */
    async park(order: string) {
      const { runId } = (await send('/workflows/order/start', { order })) as { runId: string };
      await eventually(async () => (await statusOf(runId)) === 'waiting', SOON);
      return runId;
    },
  };
}

const edit = (workspace: Workspace): void => {
  workspace.write('lib/label.ts', LABEL('2'));
  workspace.write('workflows/order.workflow.ts', ORDER('2', 'bill'));
};

describe('a run that is parked under svc dev ends on the code it began with', () => {
  it(
    'over edits that come at once, beside runs of the newest code',
    async () => {
      const workspace = await rig.workspace(V1);
      const dev = await boot(workspace);
      const old = await dev.park('a');
      edit(workspace);
      let count = 0;
      const isNew = async (): Promise<boolean> => {
        const order = `n${++count}`;
        const runId = await dev.park(order);
        await dev.resume(order);
        return (
          JSON.stringify((await dev.finish(runId)).output) ===
          JSON.stringify([`bill-2 2(${order})`, `close-2 2(${order})`])
        );
      };
      await eventually(isNew, SOON);
      await dev.resume('a');
      expect(await dev.finish(old)).toMatchObject({ status: 'completed', output: ['charge-1 1(a)', 'close-1 1(a)'] });
      expect(await isNew()).toBe(true);
    },
    SLOW_MS,
  );

  it(
    'over edits that delete its files, and one of a text it imports as it is',
    async () => {
      const text = (version: string) => ({ 'lib/label.txt': `text-${version}` });
      const withText = ORDER('1')
        .replace(
          `import { label } from '../lib/label.ts';`,
          `import text from '../lib/label.txt?raw';\nimport { label } from '../lib/label.ts';`,
        )
        .replace('return [first,', 'return [text, first,');
      const workspace = await rig.workspace({ ...V1, ...text('1'), 'workflows/order.workflow.ts': withText });
      const dev = await boot(workspace);
      const runId = await dev.park('a');
      workspace.write('lib/label.txt', 'text-2');
      workspace.remove('lib/label.ts');
      workspace.remove('workflows/order.workflow.ts');
      await eventually(async () => !(await dev.names()).includes('order'), SOON);
      await dev.resume('a');
      expect(await dev.finish(runId)).toMatchObject({
        status: 'completed',
        output: ['text-1', 'charge-1 1(a)', 'close-1 1(a)'],
      });
    },
    SLOW_MS,
  );

  it(
    'over a restart, and an edit that was made meanwhile',
    async () => {
      const workspace = await rig.workspace(V1);
      const first = await boot(workspace);
      const runId = await first.park('a');
      await first.close();
      edit(workspace);
      const next = await boot(workspace);
      await next.resume('a');
      expect(await next.finish(runId)).toMatchObject({
        status: 'completed',
        output: ['charge-1 1(a)', 'close-1 1(a)'],
      });
    },
    SLOW_MS,
  );

  it(
    'over an edit, and a restart that comes before anything is compiled',
    async () => {
      const workspace = await rig.workspace(V1);
      const first = await boot(workspace);
      const runId = await first.park('a');
      edit(workspace);
      await first.close();
      const next = await boot(workspace);
      await next.resume('a');
      expect(await next.finish(runId)).toMatchObject({
        status: 'completed',
        output: ['charge-1 1(a)', 'close-1 1(a)'],
      });
    },
    SLOW_MS,
  );
});

describe('code that branches by svc.version under svc dev', () => {
  it(
    'takes a parked run on, and svc upgrade --check says when no run needs the branch any more',
    async () => {
      const workspace = await rig.workspace(V1);
      const dev = await boot(workspace);
      const old = await dev.park('a');
      // Before the hook, where the parked run has recorded nothing.
      const hook = `await createHook({`;
      const branched = ORDER('1')
        .replace('import { createHook }', 'import { createHook, svc }')
        .replace(hook, `const tax = svc.version('tax') >= 1 ? await charge('tax') : 'none';\n  ${hook}`)
        .replace('return [first,', 'return [first, tax,');
      workspace.write('workflows/order.workflow.ts', branched);
      const upgrade = async (...flags: string[]) => runCli(['upgrade', ...flags], { cwd: workspace.root, env: UTF8 });
      await eventually(async () => (await upgrade('--check')).stdout === 'order\t1\t1\t0\t0\n', SOON);
      expect(await upgrade('--apply')).toMatchObject({ exitCode: 0, stdout: 'order\t1\t1\t0\t0\t0\n' });
      // The one that was moved has not asked yet, beside one that has.
      const fresh = await dev.park('b');
      expect((await upgrade('--check')).stdout).toBe('Every open run has the newest code.\n');
      await dev.resume('a');
      expect((await dev.finish(old)).output).toEqual(['charge-1 1(a)', 'none', 'close-1 1(a)']);
      const line = branched.slice(0, branched.indexOf('svc.version')).split('\n').length;
      const gone = `workflows/order.workflow.ts:${line}: No open run needs svc.version('tax') any more: delete the call and its old branch.\n`;
      expect((await upgrade('--check')).stdout).toBe(`Every open run has the newest code.\n\n${gone}`);
      await dev.resume('b');
      expect((await dev.finish(fresh)).output).toEqual(['charge-1 1(b)', 'charge-1 1(tax)', 'close-1 1(b)']);
      expect((await upgrade('--check', '--name', 'order')).stdout).toContain(gone);
      expect((await upgrade('--check', '--json')).stdout).not.toContain('delete the call');
    },
    SLOW_MS,
  );
});
