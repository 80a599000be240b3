import { expect, test, vi } from 'vitest';
import { call, finish, getRun, json, setupBoxes, startWorkflow, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { createBuiltWorkspace, describePlaces } from './_versions.ts';

// Runs are parked on the code they began with; a box of another build says which of them the new code fits, and moves those.

const boxes = setupBoxes();

interface Item {
  runId: string;
  outcome: string;
  stop: Record<string, unknown> | null;
  newestCodeHash: string | null;
}
interface PageOf {
  items: Item[];
  counts: Record<string, unknown>[];
  nextCursor: string | null;
}

/** Charges, waits for a resume, and ships. */
const ORDER = ({ version = '1', first = 'charge', cents = '100', wait = true, last = 'ship' } = {}) => `
import { createHook } from '@svc/runtime';
async function ${first}(order: string, cents: number) { 'use step'; return order + ' ' + cents; }
async function ${last}(order: string) { 'use step'; return '${last}-${version} ' + order; }
export async function order(input: { order: string }) {
  'use workflow';
  const paid = await ${first}(input.order, ${cents});
  ${wait ? `await createHook({ token: 'go-' + input.order });` : ''}
  return [paid, await ${last}(input.order)];
}
`;
const files = (how?: Parameters<typeof ORDER>[0]) => ({ 'workflows/order.workflow.ts': ORDER(how) });
const resume = (box: TestBox, order: string) => call(box, `POST /api/workflows/hooks/go-${order}/resume`, {});
const check = async (box: TestBox, query = '') => (await call<PageOf>(box, `GET /api/upgrade${query}`)).body;
const apply = async (box: TestBox, body = {}) => (await call<PageOf>(box, 'POST /api/upgrade', body)).body;

describePlaces(boxes, 'a run that began with earlier code', (openPlace) => {
  /** A box of the second build, and a run of the first that waits. */
  const openEdited = async (edit: Record<string, string | null>, orders = ['a']) => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(files())).options });
    const runIds: string[] = [];
    for (const order of orders) runIds.push(await startWorkflow(first, 'order', { order }));
    for (const runId of runIds) await untilStatus(first, runId, 'waiting');
    await first.shut();
    const box = await open({ options: (await workspace.build(edit)).options });
    return { box, runIds, runId: runIds[0] as string };
  };

  test('is moved where the new code comes to where it is, and ends by that', async () => {
    const { box, runId } = await openEdited(files({ version: '2' }));
    const before = await getRun(box, runId);
    expect(before).toMatchObject({ code: { isKept: true, movedAt: null } });
    expect(await check(box)).toMatchObject({
      items: [{ runId, outcome: 'safe', stop: null }],
      counts: [{ kind: 'workflow', name: 'order', runs: 1, safe: 1, moved: 0, stops: 0 }],
      nextCursor: null,
    });
    // A check changes nothing.
    expect(await getRun(box, runId)).toEqual(before);
    expect(await apply(box)).toMatchObject({ items: [{ runId, outcome: 'moved' }], counts: [{ moved: 1 }] });
    const { code } = before as unknown as { code: { codeHash: string; newest: string } };
    expect(await getRun(box, runId)).toMatchObject({
      status: 'waiting',
      code: { isKept: false, codeHash: code.newest, movedFrom: code.codeHash, movedAt: expect.any(String) },
    });
    // Done twice it is nothing.
    expect(await apply(box, { name: 'order' })).toMatchObject({ items: [] });
    const unknown = { status: 404, body: { code: 'workflow_not_found', message: expect.stringContaining('"ordr"') } };
    expect(await call(box, 'GET /api/upgrade?name=ordr')).toMatchObject(unknown);
    expect(await call(box, 'POST /api/upgrade', { name: 'ordr' })).toMatchObject(unknown);
    expect(await apply(box)).toEqual({ items: [], counts: [], nextCursor: null });
    expect(await apply(box, { run: runId })).toMatchObject({ items: [{ outcome: 'current' }] });
    await resume(box, 'a');
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: ['a 100', 'ship-2 a'] });
  });

  test.each([
    ['renames a step', { first: 'bill' }, { call: 0, recorded: /#charge$/, called: /#bill$/ }],
    ['passes a step something else', { cents: '200' }, { call: 0, recorded: /#charge$/, called: /#charge$/ }],
    ['does not wait any more', { wait: false }, { call: 1, recorded: /^hook$/, called: /#ship$/ }],
  ] as const)('stays as it is where the new code %s, and the answer says where', async (_name, how, expected) => {
    const { box, runId } = await openEdited(files({ version: '2', ...how }));
    const { items } = await check(box);
    expect(items).toMatchObject([{ runId, outcome: 'stops', stop: { code: 'code_changed', call: expected.call } }]);
    const stop = items[0]?.stop as Record<string, string>;
    expect(stop.recorded).toMatch(expected.recorded);
    expect(stop.called).toMatch(expected.called);
    expect(stop.at).toMatch(/workflows\/order\.workflow\.ts:\d+$/);
    expect(await apply(box)).toMatchObject({ items: [{ runId, outcome: 'stops' }], counts: [{ moved: 0, stops: 1 }] });
    await resume(box, 'a');
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: ['a 100', 'ship-1 a'] });
  });

  test('stays as it is where there is no such workflow any more', async () => {
    const { box, runId } = await openEdited({
      'workflows/order.workflow.ts': null,
      'workflows/other.workflow.ts': `export async function other() { 'use workflow'; return 2; }\n`,
    });
    const gone = { runId, outcome: 'stops', newestCodeHash: null, stop: { code: 'workflow_not_found' } };
    expect(await check(box)).toMatchObject({ items: [gone] });
    expect(await check(box, '?name=order')).toMatchObject({ items: [gone] });
    expect(await check(box, '?name=other')).toMatchObject({ items: [] });
    expect(await apply(box)).toMatchObject({ items: [gone] });
  });

  test('is one of many, which come page by page', async () => {
    const orders = ['a', 'b', 'c', 'd', 'e'];
    const { box, runIds } = await openEdited(files({ version: '2' }), orders);
    const first = await check(box, '?limit=2');
    expect(first.items).toHaveLength(2);
    const rest = await check(box, `?limit=10&cursor=${first.nextCursor}`);
    expect(rest).toMatchObject({ nextCursor: null });
    expect([...first.items, ...rest.items].map(({ runId }) => runId)).toEqual([...runIds].toSorted());
    expect(await check(box, '?name=other')).toMatchObject({ code: 'workflow_not_found' });
    expect((await apply(box, { name: 'order', limit: 10 })).items.map(({ outcome }) => outcome)).toEqual(
      orders.map(() => 'moved'),
    );
  });

  test('may be blocked, and goes on once the code fits it again', async () => {
    const { box, runId } = await openEdited(files({ version: '2' }));
    const { epoch = 0, seq = 0 } = (await box.journal.getRun(runId)) ?? {};
    const patch = { status: 'blocked', waitingFor: '{"type":"decision"}', wakeAt: null, release: true } as const;
    await box.journal.append({ runId, epoch, seq, records: [], patch, durability: 'process' });
    expect(await getRun(box, runId)).toMatchObject({ status: 'blocked' });
    expect(await apply(box)).toMatchObject({ items: [{ runId, outcome: 'moved' }] });
    await untilStatus(box, runId, 'waiting');
  });

  test('whose own code does not load is moved, and resume moves it to the newest as it is', async () => {
    const throwing = (version: string) => ({
      'workflows/order.workflow.ts': `${version === '1' ? `if (!process.env.OLD_NAME) throw new Error('OLD_NAME is not set.');\n` : ''}${ORDER({ version })}`,
    });
    vi.stubEnv('OLD_NAME', 'x');
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(throwing('1'))).options });
    const runIds = [
      await startWorkflow(first, 'order', { order: 'a' }),
      await startWorkflow(first, 'order', { order: 'b' }),
    ];
    for (const runId of runIds) await untilStatus(first, runId, 'waiting');
    await first.shut();
    vi.stubEnv('OLD_NAME', undefined);
    const box = await open({ options: (await workspace.build(throwing('2'))).options });
    for (const order of ['a', 'b']) await resume(box, order);
    for (const runId of runIds)
      await vi.waitFor(async () => expect(await getRun(box, runId)).toMatchObject({ waitingFor: { type: 'code' } }));
    const [a, b] = runIds as [string, string];
    expect(await apply(box, { run: a })).toMatchObject({ items: [{ outcome: 'moved' }] });
    expect(await finish(box, a)).toMatchObject({ status: 'completed', output: ['a 100', 'ship-2 a'] });
    expect(await call(box, `POST /api/runs/${b}/resume`, {})).toMatchObject({ status: 200 });
    expect(await finish(box, b)).toMatchObject({ status: 'completed', output: ['b 100', 'ship-2 b'] });
    vi.unstubAllEnvs();
  });

  test('is moved once by two requests at a time, and ends by the new code', async () => {
    const orders = ['a', 'b', 'c', 'd'];
    const { box, runIds } = await openEdited(files({ version: '2' }), orders);
    const answers = await Promise.all([apply(box), apply(box), apply(box)]);
    const outcomes = answers.flatMap(({ items }) => items);
    for (const runId of runIds) {
      const own = outcomes.filter((item) => item.runId === runId).map(({ outcome }) => outcome);
      expect(own.filter((outcome) => outcome === 'moved')).toHaveLength(1);
      expect(own.filter((outcome) => !['moved', 'current', 'busy'].includes(outcome))).toEqual([]);
    }
    for (const [n, order] of orders.entries()) {
      await resume(box, order);
      expect((await finish(box, runIds[n] as string)).output).toEqual([`${order} 100`, `ship-2 ${order}`]);
    }
  });

  test('is moved twice, and back where the build of before is deployed again', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const built = [];
    for (const version of ['1', '2', '3']) built.push((await workspace.build(files({ version }))).options);
    const first = await open({ options: built[0] ?? {} });
    const runId = await startWorkflow(first, 'order', { order: 'a' });
    await untilStatus(first, runId, 'waiting');
    const codes: unknown[] = [];
    let box = first;
    for (const n of [1, 2, 0]) {
      await box.shut();
      box = await open({ options: built[n] ?? {} });
      expect(await apply(box)).toMatchObject({ items: [{ runId, outcome: 'moved' }] });
      codes.push(((await getRun(box, runId)) as unknown as { code: unknown }).code);
    }
    await resume(box, 'a');
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: ['a 100', 'ship-1 a'] });
    const [second, third, back] = codes as { codeHash: string; movedFrom: string }[];
    expect([third?.movedFrom, back?.movedFrom]).toEqual([second?.codeHash, third?.codeHash]);
    expect(back?.codeHash).toBe(second?.movedFrom);
  });

  test('stays paused where it is moved, and goes on by the new code', async () => {
    const { box, runId } = await openEdited(files({ version: '2' }));
    await call(box, `POST /api/runs/${runId}/pause`, {});
    expect(await apply(box)).toMatchObject({ items: [{ runId, outcome: 'moved' }] });
    expect(await getRun(box, runId)).toMatchObject({ pausedAt: expect.any(String) as string });
    await resume(box, 'a');
    expect(await getRun(box, runId)).toMatchObject({ pausedAt: expect.any(String) as string, endedAt: null });
    await call(box, `POST /api/runs/${runId}/resume`, {});
    expect(await finish(box, runId)).toMatchObject({ status: 'completed', output: ['a 100', 'ship-2 a'] });
  });

  test('is moved while it waits to try a step again, and keeps when that is', async () => {
    const failing = (version: string) => ({
      'workflows/order.workflow.ts': `import { getStepMetadata } from '@svc/runtime';
async function charge() {
  'use step';
  const { attempt } = getStepMetadata();
  if (attempt < 3) throw new Error('Not yet.');
  return 'charge-${version} ' + attempt;
}
charge.maxRetries = 5;
charge.backoff = { initial: ${version === '1' ? "'1 hour'" : 10}, factor: 1 };
export async function order() { 'use workflow'; return charge(); }
`,
    });
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(failing('1'))).options });
    const runId = await startWorkflow(first, 'order', {});
    await untilStatus(first, runId, 'waiting');
    await first.shut();
    const box = await open({ options: (await workspace.build(failing('2'))).options });
    expect(await apply(box)).toMatchObject({ items: [{ runId, outcome: 'moved' }] });
    // When it is tried next was settled by the code that failed.
    expect(await getRun(box, runId)).toMatchObject({ status: 'waiting', waitingFor: { type: 'retry' } });
  });

  test('may be a turn of an agent that waits for an approval: other instructions fit it, another tool does not', async () => {
    const agent = (version: string, tool: string) => ({
      'deep-agents/desk/index.ts': `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';
const ${tool} = defineTool({ description: 'Does it.', inputSchema: z.object({}), execute: () => '${tool}-${version}' });
export default defineDeepAgent({ name: 'desk', tools: { ${tool} }, interruptOn: { ${tool}: true } });
`,
      'deep-agents/desk/instructions.md': `Text ${version}.\n`,
    });
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(agent('1', 'refund'))).options });
    const question = { model: 'desk', messages: [{ role: 'user', content: 'tool:refund {}; say:Done.' }] };
    await first.request('/wire-a/v1/chat/completions', json(question, { headers: { 'x-api-key': 'any' } }));
    const approvals = await call<{ items: { approvalId: string; runId: string }[] }>(first, 'GET /api/approvals');
    const { approvalId, runId } = approvals.body.items[0] as { approvalId: string; runId: string };
    await first.shut();
    const other = await open({ options: (await workspace.build(agent('2', 'pay'))).options });
    const asked = other.model.requests.length;
    expect(await check(other)).toMatchObject({ items: [{ runId, outcome: 'stops', stop: { code: 'code_changed' } }] });
    expect(other.model.requests).toHaveLength(asked);
    await other.shut();
    const box = await open({ options: (await workspace.build(agent('3', 'refund'))).options });
    expect(await apply(box)).toMatchObject({ items: [{ runId, outcome: 'moved' }] });
    await call(box, `POST /api/approvals/${approvalId}/decide`, { decision: 'approve' });
    expect(await finish(box, runId)).toMatchObject({ status: 'completed' });
    const told = JSON.stringify(box.model.requests.at(-1)?.messages);
    expect(told).toContain('refund-3');
    expect(told).toContain('Text 3.');
  });
});

test('a check of a long history lets the event loop go on', async () => {
  const workspace = createBuiltWorkspace();
  const many = (version: string) => ({
    'workflows/many.workflow.ts': `import { createHook } from '@svc/runtime';
async function count(n: number) { 'use step'; return n; }
export async function many() {
  'use workflow';
  for (let n = 0; n < 3000; n++) await count(n);
  await createHook({ token: 'go' });
  return 'version ${version}';
}
export const durability = 'process';
`,
  });
  const first = await boxes.open({ options: (await workspace.build(many('1'))).options });
  const runId = await startWorkflow(first, 'many', {});
  await untilStatus(first, runId, 'waiting', 60_000);
  await first.shut();
  const { options } = await workspace.build(many('2'));
  const box = await boxes.open({ options, journalPath: first.journalPath });
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const begun = performance.now();
  expect(await check(box)).toMatchObject({ items: [{ outcome: 'safe', records: 3001 }] });
  const took = performance.now() - begun;
  clearInterval(timer);
  // One that held the event loop would have a gap as long as all of it.
  expect(longest).toBeLessThan(Math.max(500, took / 2));
});
