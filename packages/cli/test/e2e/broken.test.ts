import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, useRig } from './_setup.ts';
import type { Box, Workspace } from './_setup.ts';

const rig = useRig();
let workspace: Workspace;
let box: Box;

const AGENT = `import { defineDeepAgent } from '@svc/runtime';\n`;
const WORKFLOW = `export async function run() {\n  'use workflow';\n  return 'ran';\n}\n`;

/** Every file that is wrong, with what the box says about it and about whom it answers. */
const BROKEN = {
  'deep-agents/parse/index.ts': `${AGENT}export default defineDeepAgent({ name: 'parse', , });\n`,
  'deep-agents/no-default/index.ts': `${AGENT}export const agent = defineDeepAgent({ name: 'no-default' });\n`,
  'deep-agents/throws/index.ts': `${AGENT}throw new Error('no credentials');\nexport default defineDeepAgent({ name: 'throws' });\n`,
  'deep-agents/imports/index.ts': `${AGENT}import { x } from '../../lib/unparsed.ts';\nexport default defineDeepAgent({ name: 'imports', instructions: x });\n`,
  'lib/unparsed.ts': `export const x = 1;\nexport const y = (;\n`,
  'workflows/throwing.workflow.ts': `const { URL_OF_IT } = process.env;\nnew URL(URL_OF_IT ?? '');\n${WORKFLOW}`,
  'workflows/Clash.workflow.ts': WORKFLOW,
  'workflows/clash.workflow.ts': WORKFLOW,
  'workflows/runs.workflow.ts': WORKFLOW,
  'svc.config.ts': `import { defineConfig } from '@svc/runtime';\nexport default defineConfig({ model: );\n`,
};

beforeAll(async () => {
  workspace = await rig.workspace({
    ...BROKEN,
    'deep-agents/echo/index.ts': `${AGENT}export default defineDeepAgent({ name: 'echo', model: 'scripted/own' });\n`,
  });
  box = await workspace.boot();
});

const answers = (agent: string) =>
  eventually(async () => {
    const answer = await box.chat(agent, 'say:ok');
    if (answer !== 'ok') throw new Error(`${answer}\n${box.stderr()}`);
    return true;
  });

describe('a workspace that is broken when it boots', () => {
  it.each([
    ['deep-agents/parse/index.ts:2:', 'syntax_error'],
    ['deep-agents/no-default/index.ts:1:', 'agent_default_missing'],
    ['deep-agents/throws/index.ts:2:', 'no credentials'],
    ['lib/unparsed.ts:2:', 'syntax_error'],
    ['workflows/throwing.workflow.ts:2:', 'Invalid URL'],
    ['workflows/Clash.workflow.ts:1:', 'name_clash'],
    ['workflows/clash.workflow.ts:1:', 'name_clash'],
    ['workflows/runs.workflow.ts:1:', 'name_refused'],
    ['svc.config.ts:2:', 'syntax_error'],
  ])('names %s with "%s", once', (place, what) => {
    const lines = box
      .stderr()
      .split('\n')
      .filter((line) => line.startsWith(place) && line.includes(what));
    expect(lines).toHaveLength(1);
  });

  it('shows the frame of each', () => {
    expect(box.stderr()).toContain(`> 2 | throw new Error('no credentials');`);
    expect(box.stderr()).toContain('> 2 | export const y = (;');
  });

  it('answers for what works', async () => {
    expect(await box.chat('echo', 'say:fine')).toBe('fine');
    const { runId } = await box.start('greet', { name: 'Ada' });
    expect((await box.finish(runId)).output).toBe('workflow-1 hello-1 Ada');
    expect((await box.fetch('/health')).status).toBe(200);
  });

  it.each(['parse', 'no-default', 'throws', 'imports'])('the agent "%s" answers why it does not load', async (name) => {
    const answer = await box.chat(name, 'say:hi');
    expect(answer).toContain('503');
    expect(answer).toContain('agent_load_failed');
  });

  it.each(['throwing', 'clash', 'runs'])('the workflow "%s" answers why it does not compile', async (name) => {
    const answer = await box.start(name, {}).catch((error: Error) => error.message);
    expect(answer).toContain('503');
    expect(answer).toContain('workflow_compile_failed');
    expect(answer).toContain(`workflows/${name}.workflow.ts`);
  });

  it('each is served once it is corrected, without a restart', async () => {
    workspace.edit('svc.config.ts', 'model: )', `model: 'scripted/late' })`);
    workspace.write('lib/unparsed.ts', `export const x = 'x-1';\n`);
    workspace.edit('deep-agents/parse/index.ts', ', ,', ',');
    workspace.edit('deep-agents/no-default/index.ts', 'export const agent =', 'export default');
    workspace.edit('deep-agents/throws/index.ts', `throw new Error('no credentials');`, '');
    for (const name of ['parse', 'no-default', 'throws', 'imports']) await answers(name);
    expect(rig.model().requests.at(-1)?.model).toBe('scripted/late');
    workspace.edit('workflows/throwing.workflow.ts', `?? ''`, `?? 'http://localhost'`);
    workspace.remove('workflows/Clash.workflow.ts');
    for (const name of ['throwing', 'clash'])
      await eventually(async () => (await box.finish((await box.start(name, {})).runId)).output === 'ran');
  });
});
