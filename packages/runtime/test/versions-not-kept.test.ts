import { expect, onTestFinished, test, vi } from 'vitest';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import type { Journal } from '../src/engine/journal.ts';
import { wrapJournal } from '../src/engine/stores/wrap.ts';
import { digestOfFile, packFile } from '../src/versions/files.ts';
import { createCluster } from './_cluster.ts';
import { describeWhen, realServers } from './require.ts';
import { call, finish, getRun, json, setupBoxes, startWorkflow, until, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { createBuiltWorkspace, describePlaces } from './_versions.ts';

// A run whose own code is kept nowhere waits for it: no other code takes its place, unless that is asked for.

const boxes = setupBoxes();

interface Order {
  version: string;
  first?: string;
  last?: string;
}

const ORDER = ({ version, first = 'charge', last = 'ship' }: Order) => ({
  'workflows/order.workflow.ts': `import { createHook } from '@svc/runtime';
async function ${first}(order: string) { 'use step'; return '${first}-${version} ' + order; }
async function ${last}(order: string) { 'use step'; return '${last}-${version} ' + order; }
export async function order(input: { order: string }) {
  'use workflow';
  const done = [await ${first}(input.order)];
  await createHook({ token: 'go-' + input.order });
  return [...done, await ${last}(input.order)];
}
`,
});
const OTHER = {
  'workflows/order.workflow.ts': null,
  'workflows/other.workflow.ts': `export async function other() { 'use workflow'; return 2; }\n`,
};
const ended = (version: string, order = 'a') => [`charge-${version} ${order}`, `ship-${version} ${order}`];
const FAST = { engine: { sweepMs: 50, pollMs: 50 } };

interface Reason {
  code: string;
  message: string;
  suggestion: string;
}

const resume = (box: TestBox, order = 'a') => call(box, `POST /api/workflows/hooks/go-${order}/resume`, {});
const whyOf = async (box: TestBox, runId: string) =>
  (await call<{ reasons: Reason[]; nextWakeAt: string | null }>(box, `GET /api/runs/${runId}/why`)).body;
const untilWaiting = async (box: TestBox, runId: string) => {
  await until(async () => (await whyOf(box, runId)).reasons[0]?.code === 'code_not_kept');
  return (await whyOf(box, runId)).reasons[0] as Reason;
};
const park = async (box: TestBox, order = 'a') => {
  const runId = await startWorkflow(box, 'order', { order });
  await untilStatus(box, runId, 'waiting');
  return runId;
};
/** As a bundle that is too large: none of it is kept. */
const keepsNothing = (journal: Journal): Journal => ({ ...journal, code: { ...journal.code, keep: async () => true } });

describePlaces(boxes, 'a run whose code is kept nowhere', (openPlace) => {
  test('waits for it without being tried, says so wherever it is shown, and ends on its own code once that is back', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const [v1, v2] = [await workspace.build(ORDER({ version: '1' })), await workspace.build(ORDER({ version: '2' }))];
    const first = await open({ options: v1.options });
    const runId = await park(first);
    await replaceKept(first);
    await first.shut();
    const next = await open({ options: { ...v2.options, ...FAST } });
    expect(await getRun(next, runId)).toMatchObject({ code: { isKept: false } });
    await resume(next);
    const reason = await untilWaiting(next, runId);
    expect(reason.message).toContain('it was not written by this box with the secret key it has now');
    expect(reason.suggestion).toContain(`svc upgrade --apply --run ${runId}`);
    expect(await getRun(next, runId)).toMatchObject({
      status: 'waiting',
      waitingFor: { type: 'code', code: 'code_not_kept', message: expect.stringContaining('secret key') },
    });
    expect(await whyOf(next, runId)).toMatchObject({ nextWakeAt: null });
    expect(await (await next.request('/metrics')).text()).toContain(
      'svc_runs_waiting_for_code{svc_run_kind="workflow",svc_run_name="order"} 1',
    );
    const { epoch } = (await next.journal.getRun(runId)) ?? {};
    // New ones begin meanwhile, and ten sweeps find nothing to do.
    const later = await park(next, 'b');
    await resume(next, 'b');
    expect((await finish(next, later)).output).toEqual(ended('2', 'b'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await next.journal.getRun(runId)).toMatchObject({ status: 'waiting', epoch, owner: null });
    await next.shut();
    const back = await open({ options: v1.options });
    expect(await finish(back, runId)).toMatchObject({ status: 'completed', output: ended('1') });
  });

  test('is moved on purpose where the newest code fits it, and left alone where it does not', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(ORDER({ version: '1' }))).options });
    const runId = await park(first);
    await replaceKept(first);
    await first.shut();
    const renamed = await open({ options: (await workspace.build(ORDER({ version: '2', first: 'bill' }))).options });
    await resume(renamed);
    await untilWaiting(renamed, runId);
    expect((await call(renamed, 'POST /api/upgrade', { run: runId })).body).toMatchObject({
      items: [{ outcome: 'stops', stop: { code: 'code_changed' } }],
    });
    expect(await getRun(renamed, runId)).toMatchObject({ status: 'waiting', waitingFor: { code: 'code_not_kept' } });
    await renamed.shut();
    const fits = await open({ options: (await workspace.build(ORDER({ version: '3' }))).options });
    expect((await call(fits, 'POST /api/upgrade', { run: runId })).body).toMatchObject({
      items: [{ outcome: 'moved' }],
    });
    expect(await finish(fits, runId)).toMatchObject({ output: ['charge-1 a', 'ship-3 a'] });
  });

  test('of a workflow that is gone waits, too, and a resume tries the newest code, which may block it', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(ORDER({ version: '1' }))).options });
    const runId = await park(first);
    await replaceKept(first);
    await first.shut();
    const gone = await open({ options: (await workspace.build(OTHER)).options });
    await resume(gone);
    await untilWaiting(gone, runId);
    expect((await call(gone, 'POST /api/upgrade', { run: runId })).body).toMatchObject({
      items: [{ outcome: 'stops', stop: { code: 'workflow_not_found' } }],
    });
    await gone.shut();
    const next = await open({ options: (await workspace.build(ORDER({ version: '2', first: 'bill' }))).options });
    expect((await call(next, `POST /api/runs/${runId}/resume`, {})).status).toBe(200);
    await untilStatus(next, runId, 'blocked');
    expect(await getRun(next, runId)).toMatchObject({ waitingFor: { code: 'code_changed' } });
  });

  test('is started over where that is asked for, and given up by that', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(ORDER({ version: '1' }))).options });
    const runId = await park(first);
    await replaceKept(first);
    await first.shut();
    const next = await open({ options: (await workspace.build(ORDER({ version: '2' }))).options });
    await resume(next);
    await untilWaiting(next, runId);
    const retry = (from: string) => call<{ runId: string }>(next, `POST /api/runs/${runId}/retry`, { from });
    expect(await retry('failed-step')).toMatchObject({ status: 409, body: { code: 'run_not_final' } });
    const again = await retry('start');
    expect(again.status).toBeLessThan(300);
    expect(await finish(next, runId)).toMatchObject({ status: 'cancelled', error: { code: 'run_restarted' } });
    await untilStatus(next, again.body.runId, 'waiting');
    await resume(next);
    expect((await finish(next, again.body.runId)).output).toEqual(ended('2'));
  });

  test('because of another secret key ends on its own code once a box has the key before', async () => {
    const [workspace, other, open] = [createBuiltWorkspace(), createBuiltWorkspace(), openPlace()];
    const { options } = await workspace.build(ORDER({ version: '1' }));
    const first = await open({ options });
    const runId = await park(first);
    await first.shut();
    const next = (await other.build(ORDER({ version: '2' }))).options;
    const changed = await open({ options: next });
    await resume(changed);
    expect((await untilWaiting(changed, runId)).message).toContain('secret key');
    await changed.shut();
    const last = await open({ options: { ...next, previousSecretKey: options.secretKey } });
    expect(await finish(last, runId)).toMatchObject({ status: 'completed', output: ended('1') });
  });

  test('is ended by a cancel, and goes on after a pause that hid it as its code came back', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const [v1, v2] = [await workspace.build(ORDER({ version: '1' })), await workspace.build(ORDER({ version: '2' }))];
    const first = await open({ options: v1.options });
    const [cancelled, paused] = [await park(first), await park(first, 'b')];
    await replaceKept(first);
    await first.shut();
    const next = await open({ options: v2.options });
    for (const order of ['a', 'b']) await resume(next, order);
    for (const runId of [cancelled, paused]) await untilWaiting(next, runId);
    expect((await call(next, `POST /api/runs/${cancelled}/cancel`, {})).status).toBe(200);
    expect(await finish(next, cancelled)).toMatchObject({ status: 'cancelled' });
    expect((await call(next, `POST /api/runs/${paused}/pause`, {})).status).toBe(200);
    await next.shut();
    const back = await open({ options: { ...v1.options, ...FAST } });
    await until(async () => ((await back.journal.getRun(paused))?.wakeAt ?? null) !== null);
    expect((await call(back, `POST /api/runs/${paused}/resume`, {})).status).toBe(200);
    expect(await finish(back, paused)).toMatchObject({ status: 'completed', output: ended('1', 'b') });
  });

  test('is a turn of an agent: it waits, too, and no other agent of that name answers', async () => {
    const agent = (version: string) => ({
      'deep-agents/desk/index.ts': `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';
const pay = defineTool({ description: 'Pays.', inputSchema: z.object({}), execute: () => 'pay-${version}' });
export default defineDeepAgent({ name: 'desk', tools: { pay }, interruptOn: { pay: true } });
`,
    });
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const [v1, v2] = [await workspace.build(agent('1')), await workspace.build(agent('2'))];
    const first = await open({ options: v1.options });
    const body = { model: 'desk', messages: [{ role: 'user', content: 'tool:pay {}; say:Done.' }] };
    await first.request('/wire-a/v1/chat/completions', json(body, { headers: { 'x-api-key': 'any' } }));
    const { items } = (await call<{ items: { approvalId: string; runId: string }[] }>(first, 'GET /api/approvals'))
      .body;
    const { approvalId, runId } = items[0] as { approvalId: string; runId: string };
    await replaceKept(first);
    await first.shut();
    const next = await open({ options: v2.options });
    expect((await call(next, `GET /api/approvals/${approvalId}`)).status).toBe(200);
    // What its tool takes is not known.
    const edited = { decision: 'approve', input: { anything: 1 } };
    expect(await call(next, `POST /api/approvals/${approvalId}/decide`, edited)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', message: expect.stringContaining('cannot be checked') },
    });
    const asked = boxes.model.requests.length;
    expect((await call(next, `POST /api/approvals/${approvalId}/decide`, { decision: 'approve' })).status).toBe(200);
    await untilWaiting(next, runId);
    expect(boxes.model.requests.length).toBe(asked);
    await next.shut();
    const back = await open({ options: v1.options });
    expect(await finish(back, runId)).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(boxes.model.requests.at(-1)?.messages)).toContain('pay-1');
  });
});

test('a run that has no code recorded goes on by the code there is', async () => {
  const workspace = createBuiltWorkspace();
  const first = await boxes.open({ options: (await workspace.build(ORDER({ version: '1' }))).options });
  await first.shut();
  const opened = await openSqliteJournal({ path: first.journalPath });
  const journal: Journal = { ...opened, create: (run) => opened.create({ ...run, codeHash: null }) };
  const old = await boxes.open({ journal, options: (await workspace.build()).options });
  const runId = await park(old);
  await old.shut();
  const next = await boxes.open({
    journalPath: first.journalPath,
    options: (await workspace.build(ORDER({ version: '2' }))).options,
  });
  await resume(next);
  expect(await finish(next, runId)).toMatchObject({ output: ['charge-1 a', 'ship-2 a'] });
});

test('a version that is refused is not read again by each of its runs', async () => {
  const workspace = createBuiltWorkspace();
  const first = await boxes.open({ options: (await workspace.build(ORDER({ version: '1' }))).options });
  const runs = [await park(first, 'a'), await park(first, 'b'), await park(first, 'c')];
  await replaceKept(first);
  await first.shut();
  let finds = 0;
  const journal = wrapJournal(await openSqliteJournal({ path: first.journalPath }), (name, ask) => {
    if (name === 'code.find') finds++;
    return ask();
  });
  const next = await boxes.open({ journal, options: (await workspace.build(ORDER({ version: '2' }))).options });
  for (const order of ['a', 'b', 'c']) await resume(next, order);
  for (const runId of runs) await until(async () => (await getRun(next, runId)).waitingFor !== null);
  for (const runId of runs)
    await until(async () => (await next.journal.getRun(runId))?.waitingFor?.includes('code_not_kept') === true);
  expect(finds).toBe(1);
});

test('a run goes on where its code is served, also while that cannot be kept there', async () => {
  const workspace = createBuiltWorkspace();
  const [v1, v2] = [await workspace.build(ORDER({ version: '1' })), await workspace.build(ORDER({ version: '2' }))];
  const first = await boxes.open({ options: v1.options });
  const runId = await park(first);
  await replaceKept(first);
  await first.shut();
  const next = await boxes.open({ journalPath: first.journalPath, options: v2.options });
  await resume(next);
  await untilWaiting(next, runId);
  await next.shut();
  const journal = wrapJournal(await openSqliteJournal({ path: first.journalPath }), (name, ask) =>
    name === 'code.keep' || name === 'code.touch' ? Promise.reject(new Error('The disk is full.')) : ask(),
  );
  const back = await boxes.open({ journal, options: v1.options });
  expect(await finish(back, runId)).toMatchObject({ status: 'completed', output: ended('1') });
});

test('a run whose code was refused goes on once what is kept can be opened', async () => {
  const workspace = createBuiltWorkspace();
  const [v1, v2] = [await workspace.build(ORDER({ version: '1' })), await workspace.build(ORDER({ version: '2' }))];
  const first = await boxes.open({ options: v1.options });
  const runId = await park(first);
  const [kept] = await first.journal.code.touch([String((await first.journal.getRun(runId))?.codeHash)]);
  if (!kept) throw new Error('Nothing is kept.');
  const broken = { ...kept, manifest: kept.manifest.replaceAll(/[0-9a-f]{64}/g, '0'.repeat(64)) };
  await first.journal.code.reseal(kept, broken.manifest);
  await first.shut();
  const next = await boxes.open({ journalPath: first.journalPath, options: { ...v2.options, ...FAST } });
  await resume(next);
  await untilWaiting(next, runId);
  await next.journal.code.reseal(broken, kept.manifest);
  // The refusal is remembered for a minute, and what is refused is looked at again every two.
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 121_000);
  onTestFinished(() => clock.mockRestore());
  expect(await finish(next, runId)).toMatchObject({ status: 'completed', output: ended('1') });
});

describeWhen(realServers.database, 'replicas of which one has code that nothing keeps', (database) => {
  test('its runs wait while it is away, and go on there the moment it is back', async () => {
    const workspace = createBuiltWorkspace();
    const [v1, v2] = [await workspace.build(ORDER({ version: '1' })), await workspace.build(ORDER({ version: '2' }))];
    const openOne = createCluster(boxes, { database, kv: '' });
    const open = (options: object) => openOne({ kv: null, engine: FAST.engine, options, around: keepsNothing });
    const [first, second] = [await open(v1.options), await open(v2.options)];
    const runId = await park(first);
    await first.shut();
    await resume(second);
    const reason = await untilWaiting(second, runId);
    expect(reason.message).toContain('is in no build that is up, and is not kept');
    const back = await open(v1.options);
    expect(await finish(second, runId)).toMatchObject({ status: 'completed', output: ended('1') });
    expect(back.logs.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

// --- internal ---

/** Another file than those that were kept, as who can write to the database would have it executed. */
async function replaceKept(box: TestBox): Promise<void> {
  const [run] = await box.journal.listRuns({}, { limit: 1 });
  const versions = await box.journal.code.touch([String(run?.codeHash)]);
  const text = Buffer.from('export const order = () => "mine";');
  const digest = digestOfFile(text);
  for (const version of versions) {
    const manifest = version.manifest.replaceAll(/[0-9a-f]{64}/g, digest);
    await box.journal.code.keep({ ...version, manifest, digests: [digest] }, [await packFile(digest, text)]);
  }
  if (versions.length === 0) throw new Error('Nothing is kept.');
}
