import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startQuietDev } from './_quiet-dev.ts';
import { runCli } from './_run.ts';
import { readDocument, readError, startBox } from './_setup.ts';
import { eventually, useRig } from './e2e/_setup.ts';
import type { Workspace } from './e2e/_setup.ts';

const rig = useRig();

const ORDER = (first: string, last: string) => `import { createHook } from '@svc/runtime';
async function ${first}(order: string) { 'use step'; return order; }
async function ${last}(order: string) { 'use step'; return order; }
export async function order(input: { order: string }) {
  'use workflow';
  const paid = await ${first}(input.order);
  await createHook({ token: 'go-' + input.order });
  return ${last}(paid);
}
`;
const filesOf = (first: string, last: string) => ({ 'workflows/order.workflow.ts': ORDER(first, last) });

/** A box with a run that waits. */
async function boot(workspace: Workspace) {
  const server = await startQuietDev(rig, workspace);
  const url = server.payload.agent_url;
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"order":"A-1"}' };
  const { runId } = (await (await fetch(`${url}/api/workflows/order/start`, init)).json()) as { runId: string };
  const read = async () => (await (await fetch(`${url}/api/runs/${runId}`)).json()) as { status: string };
  await eventually(async () => (await read()).status === 'waiting');
  return { url, runId, read };
}

describe('svc package --against', () => {
  it('packages what the open runs of a box fit, and nothing where one stops', async () => {
    const box = await boot(await rig.workspace(filesOf('charge', 'ship')));
    const before = await box.read();
    const safe = await rig.workspace(filesOf('charge', 'send'));
    const packaged = await runCli(['package', '--against', box.url, '--json'], { cwd: safe.root });
    expect(packaged).toMatchObject({ exitCode: 0 });
    expect(readDocument(packaged)).toMatchObject({ openRuns: { checked: 1, safe: 1, unchecked: 0 } });

    const other = await rig.workspace(filesOf('bill', 'ship'));
    const refused = await runCli(['package', '--against', box.url, '--json'], { cwd: other.root });
    expect(refused).toMatchObject({ exitCode: 1 });
    const { code, message, details } = readError(refused);
    expect({ code, message }).toEqual({
      code: 'check_failed',
      message: `The new code stops in 1 of 1 open run of ${box.url}.`,
    });
    expect(details).toMatchObject({
      problems: [
        {
          code: 'code_changed',
          file: 'workflows/order.workflow.ts',
          message: expect.stringContaining(`Run ${box.runId} of order: Call 0`),
        },
      ],
      runs: [{ runId: box.runId, stop: { recorded: 'workflows/order.workflow.ts#charge' } }],
    });
    expect(existsSync(other.path('dist/deploy'))).toBe(false);
    // It is asked, and nothing is done to it.
    expect(await box.read()).toEqual(before);
  }, 120_000);

  it('leaves out what the box runs for itself', async () => {
    const items = [{ runId: '0192f3b4-7a10-7abc-8def-0123456789a1', name: 'svc.eval', status: 'running' }];
    const box = await startBox({ 'GET /api/runs': { body: { items, nextCursor: null } } });
    const { root } = await rig.workspace(filesOf('charge', 'ship'));
    const packaged = await runCli(['package', '--against', box.url, '--json'], { cwd: root });
    expect(packaged).toMatchObject({ exitCode: 0 });
    expect(readDocument(packaged)).toMatchObject({ openRuns: { checked: 0, safe: 0, unchecked: 0 } });
    expect(box.seen.map(({ line }) => line.split('?')[0])).toEqual(Array<string>(3).fill('GET /api/runs'));
  }, 120_000);
});
