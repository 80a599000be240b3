import { expect, test } from 'vitest';
import { call, finish, setupBoxes, startWorkflow, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { createBuiltWorkspace, describePlaces } from './_versions.ts';

// What `GET /api/workflows/:name/changes` says of the runs that wait.

const boxes = setupBoxes();

const ORDER = (text: string) => ({
  'workflows/order.workflow.ts': `import { createHook, svc } from '@svc/runtime';
async function charge(what: string) { 'use step'; return what; }
export async function order(input: { order: string }) {
  'use workflow';
  const done: unknown[] = [await charge('first')];
  ${text}
  await createHook({ token: 'go-' + input.order });
  return [...done, await charge('last')];
}
`,
});
const V1 = ORDER('');
const V2 = ORDER(`done.push(svc.version('tax', 2));`);

interface Changes {
  items: { change: string; newest: number; versions: unknown[]; unasked: number; isNeeded: boolean }[];
  openRuns: number;
  behind: number;
}

describePlaces(boxes, 'a place at which code branches', (openPlace) => {
  test('is needed for as long as an open run may take the old branch, and by none after', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const changes = async (box: TestBox) => (await call<Changes>(box, 'GET /api/workflows/order/changes')).body;
    const park = async (box: TestBox, order: string) => {
      const runId = await startWorkflow(box, 'order', { order });
      await untilStatus(box, runId, 'waiting');
      return runId;
    };
    const end = async (box: TestBox, runId: string, order: string) => {
      await call(box, `POST /api/workflows/hooks/go-${order}/resume`, {});
      return (await finish(box, runId)).output;
    };
    const first = await open({ options: (await workspace.build(V1)).options });
    const old = await park(first, 'a');
    expect(await changes(first)).toEqual({ items: [], openRuns: 1, behind: 0, isWhole: true });
    await first.shut();
    const next = await open({ options: (await workspace.build(V2)).options });
    const [one, two] = [await park(next, 'b'), await park(next, 'c')];
    const tax = { change: 'tax', newest: 2, versions: [{ version: 2, runs: 2 }] };
    expect(await changes(next)).toMatchObject({ behind: 1, items: [{ ...tax, unasked: 1, isNeeded: true }] });
    // Its own code does not ask, and it ends by that.
    expect(await end(next, old, 'a')).toEqual(['first', 'last']);
    expect(await changes(next)).toMatchObject({ behind: 0, items: [{ ...tax, unasked: 0, isNeeded: false }] });
    await next.shut();
    const gone = await open({ options: (await workspace.build(V1)).options });
    expect(await end(gone, one, 'b')).toEqual(['first', 2, 'last']);
    expect(await changes(gone)).toMatchObject({ openRuns: 1, items: [{ change: 'tax', versions: [{ runs: 1 }] }] });
    expect(await end(gone, two, 'c')).toEqual(['first', 2, 'last']);
    expect(await changes(gone)).toMatchObject({ items: [], openRuns: 0 });
  });
});

test('a run can be moved to code that branches, and goes on by the old branch, which is needed from then on', async () => {
  const workspace = createBuiltWorkspace();
  const first = await boxes.open({ options: (await workspace.build(V1)).options });
  const old = await startWorkflow(first, 'order', { order: 'a' });
  await untilStatus(first, old, 'waiting');
  await first.shut();
  const charged = (ask: string) => ORDER(`done.push(${ask} ? await charge('gross') : 'net');`);
  const straight = await boxes.open({
    journalPath: first.journalPath,
    options: (await workspace.build(charged('input.order'))).options,
  });
  expect((await call(straight, 'GET /api/upgrade')).body).toMatchObject({ items: [{ runId: old, outcome: 'stops' }] });
  await straight.shut();
  const next = await boxes.open({
    journalPath: first.journalPath,
    options: (await workspace.build(charged(`svc.version('tax')`))).options,
  });
  expect((await call(next, 'POST /api/upgrade', {})).body).toMatchObject({ items: [{ runId: old, outcome: 'moved' }] });
  const fresh = await startWorkflow(next, 'order', { order: 'b' });
  await untilStatus(next, fresh, 'waiting');
  // The one that was moved has not asked yet.
  expect((await call(next, 'GET /api/workflows/order/changes')).body).toMatchObject({
    behind: 1,
    items: [{ change: 'tax', versions: [{ version: 1, runs: 1 }], unasked: 1, isNeeded: true }],
  });
  await call(next, 'POST /api/workflows/hooks/go-a/resume', {});
  expect((await finish(next, old)).output).toEqual(['first', 'net', 'last']);
  await call(next, 'POST /api/workflows/hooks/go-b/resume', {});
  expect((await finish(next, fresh)).output).toEqual(['first', 'gross', 'last']);
});

test('of a workflow there is none of is refused', async () => {
  const box = await boxes.open({});
  expect(await call(box, 'GET /api/workflows/none/changes')).toMatchObject({
    status: 404,
    body: { code: 'workflow_not_found' },
  });
});
