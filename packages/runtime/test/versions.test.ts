import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openSqliteJournal } from '../src/engine/stores/sqlite/journal.ts';
import { wrapJournal } from '../src/engine/stores/wrap.ts';
import { digestOfFile, packFile, readKeptFile } from '../src/versions/files.ts';
import { call, finish, json, runWorkflow, setupBoxes, startWorkflow, untilStatus } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { createBuiltWorkspace, describePlaces } from './_versions.ts';

// A run is parked on the code it began with, and a box of another build takes it up.

const boxes = setupBoxes();

const ORDER = (version: string, steps = ['charge', 'ship']) => `import { createHook } from '@svc/runtime';
import { label } from '../lib/label.ts';
class Receipt {
  constructor(readonly text: string) {}
  static [Symbol.for('workflow-serialize')](one: Receipt) { return one.text; }
  static [Symbol.for('workflow-deserialize')](text: string) { return new Receipt(text); }
  show() { return 'receipt-${version} ' + this.text; }
}
${steps
  .map(
    (name) => `async function ${name}(order: string) {
  'use step';
  return new Receipt('${name}-${version} ' + label(order));
}`,
  )
  .join('\n')}
export async function order(input: { order: string }) {
  'use workflow';
  const tag = async (text: string) => { 'use step'; return 'tag-${version} ' + text + ' ' + input.order; };
  const done: string[] = [];
  done.push((await ${steps[0]}(input.order)).show());
  await createHook({ token: 'go-' + input.order });
  ${steps
    .slice(1)
    .map((name) => `done.push((await ${name}(input.order)).show());`)
    .join('\n  ')}
  done.push(await tag('end'));
  return done;
}
`;
const LABEL = (version: string) => `export const label = (text: string) => 'label-${version}(' + text + ')';\n`;
const V1 = { 'workflows/order.workflow.ts': ORDER('1'), 'lib/label.ts': LABEL('1') };
const ended = (version: string, steps = ['charge', 'ship'], order = 'a') => [
  ...steps.map((name) => `receipt-${version} ${name}-${version} label-${version}(${order})`),
  `tag-${version} end ${order}`,
];
const resume = async (box: TestBox, order: string) => {
  expect((await call(box, `POST /api/workflows/hooks/go-${order}/resume`, {})).status).toBeLessThan(300);
};

const EDITS: Record<string, Record<string, string | null>> = {
  'renames a step': { 'workflows/order.workflow.ts': ORDER('2', ['bill', 'ship']) },
  'inserts a step': { 'workflows/order.workflow.ts': ORDER('2', ['reserve', 'charge', 'ship']) },
  'removes a step': { 'workflows/order.workflow.ts': ORDER('2', ['ship']) },
  'changes what a step answers, by a helper': { 'lib/label.ts': LABEL('2') },
  'removes the workflow': {
    'workflows/order.workflow.ts': null,
    'workflows/other.workflow.ts': `export async function other() { 'use workflow'; return 2; }\n`,
  },
};

describePlaces(boxes, 'a run that is parked', (openPlace) => {
  test.each(Object.entries(EDITS))('ends on its own code after a build that %s', async (_name, edit) => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(V1)).options });
    const runId = await startWorkflow(first, 'order', { order: 'a' });
    await untilStatus(first, runId, 'waiting');
    await first.shut();
    const next = await open({ options: (await workspace.build(edit)).options });
    await resume(next, 'a');
    expect(await finish(next, runId)).toMatchObject({ status: 'completed', output: ended('1') });
  });

  test('stands beside new ones, which have the newest code, and neither sees the other', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const first = await open({ options: (await workspace.build(V1)).options });
    const old = await startWorkflow(first, 'order', { order: 'a' });
    await untilStatus(first, old, 'waiting');
    await first.shut();
    const V2 = { 'workflows/order.workflow.ts': ORDER('2'), 'lib/label.ts': LABEL('2') };
    const next = await open({ options: (await workspace.build(V2)).options });
    const before = await startWorkflow(next, 'order', { order: 'b' });
    await untilStatus(next, before, 'waiting');
    await resume(next, 'a');
    expect((await finish(next, old)).output).toEqual(ended('1'));
    const after = await startWorkflow(next, 'order', { order: 'c' });
    await untilStatus(next, after, 'waiting');
    for (const order of ['b', 'c']) await resume(next, order);
    expect((await finish(next, before)).output).toEqual(ended('2', ['charge', 'ship'], 'b'));
    expect((await finish(next, after)).output).toEqual(ended('2', ['charge', 'ship'], 'c'));
  });

  test('ends on its own code after the secret key has changed, where the one before was given once', async () => {
    const [workspace, other, open] = [createBuiltWorkspace(), createBuiltWorkspace(), openPlace()];
    const { options } = await workspace.build(V1);
    const first = await open({ options });
    const runId = await startWorkflow(first, 'order', { order: 'a' });
    await untilStatus(first, runId, 'waiting');
    await first.shut();
    const next = (await other.build({ ...V1, ...EDITS['renames a step'] })).options;
    await (await open({ options: { ...next, previousSecretKey: options.secretKey } })).shut();
    const last = await open({ options: next });
    await resume(last, 'a');
    expect((await finish(last, runId)).output).toEqual(ended('1'));
  });

  test('has the packages its code began with', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const prices = (version: string) => ({
      'node_modules/prices/package.json': JSON.stringify({ name: 'prices', version, type: 'module', main: 'index.js' }),
      'node_modules/prices/index.js': `export const price = (order) => order + ' at ${version}';\n`,
    });
    const workflow = `import { createHook } from '@svc/runtime';
import { price } from 'prices';
async function read(order: string) { 'use step'; return price(order); }
export async function order(input: { order: string }) {
  'use workflow';
  await createHook({ token: 'go-' + input.order });
  return read(input.order);
}
`;
    const built = await workspace.build({ ...prices('1.0.0'), 'workflows/order.workflow.ts': workflow });
    const first = await open({ options: built.options });
    const runId = await startWorkflow(first, 'order', { order: 'a' });
    await untilStatus(first, runId, 'waiting');
    await first.shut();
    const next = await open({ options: (await workspace.build(prices('2.0.0'))).options });
    const later = await startWorkflow(next, 'order', { order: 'b' });
    await untilStatus(next, later, 'waiting');
    for (const order of ['a', 'b']) await resume(next, order);
    expect((await finish(next, runId)).output).toBe('a at 1.0.0');
    expect((await finish(next, later)).output).toBe('b at 2.0.0');
  });

  test('is a turn of an agent: it has its tools and its instructions', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const agent = (version: string, tool: string) => ({
      'deep-agents/desk/index.ts': `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';
const ${tool} = defineTool({
  description: 'Does it.',
  inputSchema: z.object({}),
  execute: () => '${tool}-${version}',
});
export default defineDeepAgent({ name: 'desk', tools: { ${tool} }, interruptOn: { ${tool}: true } });
`,
      'deep-agents/desk/instructions.md': `Text ${version}.\n`,
    });
    const first = await open({ options: (await workspace.build(agent('1', 'refund'))).options });
    const ask = (box: TestBox, text: string) =>
      box.request(
        '/wire-a/v1/chat/completions',
        json({ model: 'desk', messages: [{ role: 'user', content: text }] }, { headers: { 'x-api-key': 'any' } }),
      );
    await ask(first, 'tool:refund {}; say:Done.');
    const [asked] = (await call<{ items: { approvalId: string; runId: string }[] }>(first, 'GET /api/approvals')).body
      .items;
    if (!asked) throw new Error('Nothing is asked.');
    await first.shut();
    const next = await open({ options: (await workspace.build(agent('2', 'pay'))).options });
    await call(next, `POST /api/approvals/${asked.approvalId}/decide`, { decision: 'approve' });
    expect(await finish(next, asked.runId)).toMatchObject({ status: 'completed' });
    const told = next.model.requests.at(-1)?.messages ?? [];
    expect(told.find(({ role }) => role === 'tool')?.content).toContain('refund-1');
    expect(JSON.stringify(told)).toContain('Text 1.');
    await ask(next, 'say:Hi.');
    expect(JSON.stringify(next.model.requests.at(-1)?.messages)).toContain('Text 2.');
  });

  test('is given up to the newest code by a continueAsNew', async () => {
    const [workspace, open] = [createBuiltWorkspace(), openPlace()];
    const chain = (version: string) => `import { continueAsNew, createHook } from '@svc/runtime';
export async function chain(input: { n: number }) {
  'use workflow';
  if (input.n === 2) return 'version-${version}';
  await createHook({ token: 'go-' + input.n });
  return continueAsNew({ n: input.n + 1 });
}
`;
    const first = await open({
      options: (await workspace.build({ 'workflows/chain.workflow.ts': chain('1') })).options,
    });
    const runId = await startWorkflow(first, 'chain', { n: 1 });
    await untilStatus(first, runId, 'waiting');
    await first.shut();
    const built = await workspace.build({ 'workflows/chain.workflow.ts': chain('2') });
    const next = await open({ options: built.options });
    await resume(next, '1');
    expect(await finish(next, runId)).toMatchObject({ status: 'completed', output: 'version-2' });
    expect((await runWorkflow(next, 'chain', { n: 2 })).output).toBe('version-2');
  });
});

/** So many runs wait on the code of `V1`, and their box is gone. */
async function parkRuns(count: number) {
  const workspace = createBuiltWorkspace();
  const first = await boxes.open({ options: (await workspace.build(V1)).options });
  const runs: { runId: string; order: string }[] = [];
  for (let n = 0; n < count; n++) {
    const order = `o${n}`;
    runs.push({ runId: await startWorkflow(first, 'order', { order }), order });
  }
  for (const { runId } of runs) await untilStatus(first, runId, 'waiting');
  await first.shut();
  const { options } = await workspace.build(EDITS['renames a step']);
  return { runs, journalPath: first.journalPath, options, root: workspace.root };
}

test('runs of one version that go on together have its files read once', async () => {
  const { runs, journalPath, options } = await parkRuns(20);
  let reads = 0;
  const journal = wrapJournal(await openSqliteJournal({ path: journalPath }), (name, ask) => {
    if (name === 'code.readFile') reads++;
    return ask();
  });
  const next = await boxes.open({ journal, options });
  await Promise.all(runs.map(({ order }) => resume(next, order)));
  for (const { runId, order } of runs)
    expect(await finish(next, runId)).toMatchObject({ output: ended('1', ['charge', 'ship'], order) });
  const { manifest } = await findKept(next);
  const { files } = JSON.parse((JSON.parse(manifest) as { text: string }).text) as { files: object };
  expect(reads).toBe(Object.keys(files).length);
});

test('a version whose files could not be written is loaded by the next run of it', async () => {
  const { runs, journalPath, options, root } = await parkRuns(2);
  const [a, b] = runs;
  if (!a || !b) throw new Error('Nothing is parked.');
  const next = await boxes.open({ journalPath, options });
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('TMPDIR', join(root, 'gone'));
  await resume(next, a.order);
  await expect.poll(() => JSON.stringify(next.logs), { timeout: 10_000 }).toContain('its code cannot be loaded');
  vi.unstubAllEnvs();
  await resume(next, b.order);
  const output = ended('1', ['charge', 'ship'], b.order);
  expect(await finish(next, b.runId)).toMatchObject({ status: 'completed', output });
});

test('a turn on earlier code has its own sub-agents, also one that is gone, and edited arguments fit its own tool', async () => {
  const workspace = createBuiltWorkspace();
  const agent = (version: string, member: string, more: string) => ({
    'deep-agents/desk/index.ts': `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';
const refund = defineTool({
  description: 'Does it.',
  inputSchema: z.object({ ${member}: z.number() }),
  execute: (input) => 'refund-${version} ' + JSON.stringify(input),
});
export default defineDeepAgent({ name: 'desk', tools: { refund }, interruptOn: { refund: true }, ${more} });
`,
  });
  const helper = `subagents: [{ name: 'helper', description: 'Helps.', instructions: 'Helper 1.' }]`;
  const first = await boxes.open({ options: (await workspace.build(agent('1', 'cents', helper))).options });
  const task = JSON.stringify({ subagent_type: 'helper', description: 'say:Hi.' });
  const content = `tool:refund {"cents": 1}; tool:task ${task}; say:Done.`;
  const body = json({ model: 'desk', messages: [{ role: 'user', content }] }, { headers: { 'x-api-key': 'any' } });
  await first.request('/wire-a/v1/chat/completions', body);
  const { items } = (await call<{ items: { approvalId: string; runId: string }[] }>(first, 'GET /api/approvals')).body;
  const { approvalId, runId } = items[0] ?? {};
  await first.shut();
  const { options } = await workspace.build(agent('2', 'euros', ''));
  const next = await boxes.open({ journalPath: first.journalPath, options });
  const before = next.model.requests.length;
  const decide = (input: object) =>
    call(next, `POST /api/approvals/${approvalId}/decide`, { decision: 'approve', input });
  expect((await decide({ euros: 5 })).status).toBe(400);
  expect((await decide({ cents: 5 })).status).toBe(200);
  expect(await finish(next, String(runId))).toMatchObject({ status: 'completed' });
  const told = JSON.stringify(next.model.requests.slice(before));
  expect(told).toContain(JSON.stringify('refund-1 {"cents":5}').slice(1, -1));
  expect(told).toContain('Helper 1.');
});

test('a run whose own code throws as it is loaded says so, and can go on by the newest', async () => {
  const workspace = createBuiltWorkspace();
  const order = (name: string, head = '') => ({
    'workflows/order.workflow.ts': `import { createHook } from '@svc/runtime';
${head}
async function charge(order: string) { 'use step'; return order; }
export async function order(input: { order: string }) {
  'use workflow';
  await createHook({ token: 'go-' + input.order });
  return '${name} ' + (await charge(input.order));
}
`,
  });
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('SVC_VERSIONS_TEST', 'there');
  const needs = `if (!process.env.SVC_VERSIONS_TEST) throw new Error('SVC_VERSIONS_TEST is missing.');`;
  const first = await boxes.open({ options: (await workspace.build(order('old', needs))).options });
  const runId = await startWorkflow(first, 'order', { order: 'a' });
  await untilStatus(first, runId, 'waiting');
  await first.shut();
  vi.stubEnv('SVC_VERSIONS_TEST', '');
  const next = await boxes.open({
    journalPath: first.journalPath,
    options: (await workspace.build(order('new'))).options,
  });
  await resume(next, 'a');
  const why = () =>
    call<{ reasons: { code: string; message: string; suggestion: string }[] }>(next, `GET /api/runs/${runId}/why`);
  await expect.poll(async () => (await why()).body.reasons[0]?.code, { timeout: 10_000 }).toBe('code_unavailable');
  const [reason] = (await why()).body.reasons;
  expect(reason?.message).toContain('SVC_VERSIONS_TEST is missing.');
  expect(reason?.suggestion).toContain(`svc runs resume ${runId}`);
  expect((await call(next, `POST /api/runs/${runId}/resume`, {})).status).toBe(200);
  expect(await finish(next, runId)).toMatchObject({ status: 'completed', output: 'new a' });
});

test('what a process that was killed has left in the temp folder is removed by the next that loads a version', async () => {
  const { runs, journalPath, options, root } = await parkRuns(1);
  const [run] = runs;
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('TMPDIR', root);
  const next = await boxes.open({ journalPath, options });
  await resume(next, String(run?.order));
  await finish(next, String(run?.runId));
  const [own] = readdirSync(root).filter((name) => name.startsWith('svc-code-'));
  // As a process of an id that is free now, or of this one in its life before, has named it; and one of another machine.
  const [machine, pid, origin] = /^svc-code-(.*?)-(\d+)-(\d+)-/.exec(String(own))?.slice(1) ?? [];
  const left = [`svc-code-${machine}-4194399-1-a`, `svc-code-${machine}-${pid}-1-a`];
  const others = [`svc-code-0000-4194399-1-a`, `svc-code-${machine}-${process.ppid}-1-a`];
  expect(origin).toBeDefined();
  for (const name of [...left, ...others]) mkdirSync(join(root, name));
  await next.shut();
  const again = await parkRuns(1);
  vi.stubEnv('TMPDIR', root);
  const last = await boxes.open({ journalPath: again.journalPath, options: again.options });
  await resume(last, String(again.runs[0]?.order));
  await finish(last, String(again.runs[0]?.runId));
  const there = readdirSync(root);
  expect(left.filter((name) => there.includes(name))).toEqual([]);
  expect(others.filter((name) => there.includes(name))).toEqual(others);
});

test('a file whose content is not what its digest says is not read', async () => {
  const [good, bad] = [Buffer.from('export const a = 1;'), Buffer.from('export const a = 2;')];
  const { body } = await packFile('', bad);
  expect(await readKeptFile({ readFile: async () => body }, digestOfFile(bad))).toEqual(bad);
  expect(await readKeptFile({ readFile: async () => body }, digestOfFile(good))).toBeUndefined();
  expect(await readKeptFile({ readFile: async () => 'no gzip' }, digestOfFile(good))).toBeUndefined();
});

// --- internal ---

/** What is kept of the code of a run. */
async function findKept(box: TestBox) {
  const [run] = await box.journal.listRuns({}, { limit: 1 });
  const [version] = await box.journal.code.touch([String(run?.codeHash)]);
  if (!version) throw new Error('Nothing is kept.');
  return version;
}
