import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startModelServer } from '../../../../playground/model-server.mjs';
import { typecheck } from '../../../compiler/test/_typecheck.ts';
import { readBlocks, runBlock } from '../_docs.ts';
import { listCompletions } from '../_language.ts';
import { empty, linkPackages, scaffold as scaffoldIn } from './_scaffold.ts';
import { eventually, useRig } from './_setup.ts';
import type { Box, Run, Workspace } from './_setup.ts';

const rig = useRig();

// A boot, a type check and a few runs each, beside everything else the machine does.
vi.setConfig({ testTimeout: 120_000 });

const scaffold = (template: string, ...added: string[][]) => scaffoldIn(rig, template, ...added);

async function finish(box: Box, workflow: string, input: unknown): Promise<Run> {
  const { runId } = await box.start(workflow, input);
  return box.finish(runId);
}

describe('a new workspace', () => {
  it('that is empty boots, has types that fit, and is given an agent while it runs', async () => {
    const workspace = await scaffold('empty');
    const box = await workspace.boot();
    expect(box.payload.deep_agents).toEqual([]);
    expect(typecheck(workspace.root)).toBe('');
    await workspace.svc('add', 'agent', 'support');
    await eventually(async () => (await box.chat('support', 'say:Here I am.')) === 'Here I am.', { within: 30_000 });
    await box.stop();
  });

  it('with an agent holds a chat in which a tool runs', async () => {
    const workspace = await scaffold('agent');
    const box = await workspace.boot();
    expect(await box.chat('assistant', 'tool:current_time {"timeZone":"UTC"}')).toMatch(
      /^The tool answered: .*\d:\d\d/,
    );
    expect(typecheck(workspace.root)).toBe('');
    expect(box.stderr()).toBe('');
    await box.stop();
  });

  it('with the provider it was made with, in .env, answers without another word', async () => {
    const workspace = await rig.workspace();
    empty(workspace);
    // It lists one model: that is the default.
    const model = await startModelServer();
    onTestFinished(() => model.close());
    const made = await workspace.svc('init', '.', '--with', 'agent', '--provider', model.url, '--no-install');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(workspace.read('svc.config.ts')).toContain("model: 'playground/scripted'");
    linkPackages(workspace);
    const box = await workspace.boot({ model: false });
    expect(box.payload.gate).toEqual({ open: true, reason: 'model-provider-env' });
    expect(await workspace.svc('chat', 'assistant', 'say:Hello.')).toMatchObject({ code: 0, stdout: 'Hello.\n' });
    await box.stop();
  });

  it('with a workflow runs it to its end', async () => {
    const workspace = await scaffold('workflow');
    const box = await workspace.boot();
    expect(await finish(box, 'welcome', { name: 'Ada' })).toMatchObject({
      status: 'completed',
      output: { greeting: 'Welcome, Ada.', sentAt: expect.stringMatching(/^\d{4}-/) },
    });
    expect(typecheck(workspace.root)).toBe('');
    expect(box.stderr()).toBe('');
    await box.stop();
  });

  it('with a workflow and its agent streams a conversation', async () => {
    const workspace = await scaffold('workflow-agent');
    const box = await workspace.boot();
    expect(await box.chat('guide', 'say:Hello.')).toBe('Hello.');
    const response = await box.fetch('/api/workflows/guide/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'say:One two three.', session: 'a' }),
    });
    const text = await response.text();
    const frames = Array.from(
      text.matchAll(/^event: frame\ndata: (.*)$/gm),
      ([, data = '']) => JSON.parse(data) as string,
    );
    expect(frames.join('')).toBe('One two three.');
    expect(text).toContain('"output":{"text":"One two three.","words":3}');
    expect(typecheck(workspace.root)).toBe('');
    expect(box.stderr()).toBe('');
    await box.stop();
  });
});

it('everything `svc add` can add compiles, fits its types, and runs', async () => {
  const workspace = await scaffold(
    'empty',
    ['deep-agent', 'desk'],
    ['workflow', '2-steps', '--template', 'steps'],
    ['workflow', 'buy', '--template', 'approval'],
    ['workflow', 'weekly', '--template', 'schedule'],
    ['workflow', 'greet', '--template', 'chat'],
    ['workflow', 'ask-desk', '--calls', 'desk'],
    ['workflow', 'twice', '--calls', 'weekly'],
    ['workflow-agent', 'guide'],
  );
  const box = await workspace.boot();
  expect(typecheck(workspace.root)).toBe('');
  expect(box.stderr()).toBe('');
  const { runId } = await box.start('buy', { item: 'desk', price: 10 });
  const [asked] = await eventually(async () => {
    const { items } = await box.get<{ items: { approvalId: string }[] }>('/api/approvals?status=pending');
    return items.length > 0 && items;
  }).then((items) => items || []);
  await box.fetch(`/api/approvals/${asked?.approvalId}/decide`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"decision":"approve"}',
  });
  expect(await box.finish(runId)).toMatchObject({ output: { bought: true, order: 'order of desk' } });
  expect(await finish(box, 'twice', { topic: 'abc' })).toMatchObject({
    output: { output: { topic: 'abc', total: 6 } },
  });
  expect(await finish(box, 'ask-desk', { question: 'say:It is open.' })).toMatchObject({
    output: { answer: 'It is open.' },
  });
  expect(await finish(box, 'greet', { name: 'Ada' })).toMatchObject({ output: { said: 2 } });
  expect(await finish(box, '2-steps', { name: 'Ada' })).toMatchObject({ output: { greeting: 'Welcome, Ada.' } });
  await box.stop();
});

describe('the types of a workspace', () => {
  const WRONG = [
    `svc.workflows.start('welcom', { name: 'Ada' })`,
    `svc.workflows.start('welcome', { nam: 'Ada' })`,
    `svc.workflows.start('welcome', { name: 7 })`,
    `svc.workflows.start('welcome', {})`,
    `svc.workflows.startAndWait('nowhere', {})`,
    `svc.workflows.schedule('nowhere', {}, { id: 'a', cron: '0 9 * * 1' })`,
    `svc.agent('desc')`,
  ];

  it('make a wrong name or input an error, and nothing else', async () => {
    const workspace = await scaffold('workflow', ['agent', 'desk']);
    const box = await workspace.boot();
    await box.stop();
    const lines = [
      `import { svc } from '@svc/runtime';`,
      `export const right = () => [svc.workflows.start('welcome', { name: 'Ada' }), svc.agent('desk').session()];`,
      ...WRONG.map((call, i) => `export const wrong${i} = () => ${call};`),
    ];
    workspace.write('use.ts', lines.join('\n'));
    const errors = Array.from(typecheck(workspace.root).matchAll(/^use\.ts\((\d+),/gm), ([, line]) => Number(line));
    expect([...new Set(errors)]).toEqual(WRONG.map((_, i) => i + 3));
  });

  it('let an editor complete the names and the members of the input', async () => {
    const workspace = await scaffold('workflow', ['agent', 'desk'], ['workflow', 'onboard', '--template', 'approval']);
    const box = await workspace.boot();
    await box.stop();
    const asked = {
      "void svc.workflows.start('|', { name: 'Ada' });": ['onboard', 'welcome'],
      "void svc.workflows.startAndWait('|');": ['onboard', 'welcome'],
      "void svc.agent('|');": ['desk'],
      "void svc.workflows.start('onboard', { | });": ['item', 'price'],
    };
    const texts = Object.keys(asked).map((text) => `import { svc } from '@svc/runtime';\n${text}`);
    expect(listCompletions(workspace.root, texts)).toEqual(Object.values(asked));
  });
});

describe('docs/guide/start.md', () => {
  const blocks = readBlocks('docs/guide/start.md');
  const run = async (name: string, workspace: Workspace): Promise<string> => {
    const block = blocks.find((one) => one.name === name);
    if (!block) throw new Error(`The page has no block "${name}".`);
    const ran = await runBlock(block, workspace, rig.model().port);
    expect(ran).toMatchObject({ code: 0 });
    return ran.stdout;
  };

  it('leads from an empty folder to an agent, a conversation and a run', async () => {
    const above = await rig.workspace();
    empty(above);
    expect(await run('clone', above)).toMatch(/^Created shop in /);
    expect(above.read('shop/.env')).toBe(`MODEL_PROVIDER_BASE_URL=${rig.model().url}\n`);
    const workspace = await scaffold('agent');
    expect(workspace.read('AGENTS.md').split('\n').slice(1)).toEqual(above.read('shop/AGENTS.md').split('\n').slice(1));
    const box = await workspace.boot({ model: false });
    await run('gate', workspace);
    await run('guide', workspace);
    await eventually(async () => (await box.fetch('/api/workflows/guide')).status === 200, { within: 30_000 });
    expect(await run('say', workspace)).toBe('Hello from the terminal.\n');
    expect(await run('chat', workspace)).toContain('Hello from the guide.');
    expect(await run('talk', workspace)).toContain('"output":{"text":"One two three.","words":3}');
    await run('add', workspace);
    await eventually(async () => (await box.fetch('/api/workflows/welcome')).status === 200, { within: 30_000 });
    const [, runId = ''] = /Started welcome: run (\S+)/.exec(await run('start', workspace)) ?? [];
    expect(await box.finish(runId)).toMatchObject({ status: 'completed', output: { greeting: 'Welcome, Ada.' } });
    await box.stop();
  });
});
