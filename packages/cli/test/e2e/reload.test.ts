import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, useRig } from './_setup.ts';
import type { Box, Workspace } from './_setup.ts';

const rig = useRig();
let workspace: Workspace;
let box: Box;

const ask = (agent = 'echo') => box.chat(agent, 'tool:answer {}');
const answers = (text: string, agent?: string) =>
  eventually(async () => {
    const answer = await ask(agent);
    if (!answer.includes(text)) throw new Error(answer);
    return answer;
  });
const greets = (text: string) =>
  eventually(async () => {
    const { runId } = await box.start('greet', { name: 'Ada' });
    const { output } = await box.finish(runId);
    if (output !== text) throw new Error(String(output));
    return true;
  });
/** What the box says on stderr from here on. */
function listen(): () => string {
  const from = box.stderr().length;
  return () => box.stderr().slice(from);
}
const says = (heard: () => string, ...texts: string[]) =>
  eventually(() => {
    const missing = texts.find((text) => !heard().includes(text));
    if (missing) throw new Error(`"${missing}" is not in:\n${heard()}`);
    return true;
  });
const modelNames = async () =>
  (await box.get<{ data: { id: string }[] }>('/wire-a/v1/models')).data.map(({ id }) => id).sort();
const workflowNames = async () =>
  (await box.get<{ items: { name: string }[] }>('/api/workflows')).items.map(({ name }) => name).sort();

const agent = (name: string, answer: string) => `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';
const answer = defineTool({ description: 'Answers.', inputSchema: z.object({}), execute: () => ${JSON.stringify(answer)} });
export default defineDeepAgent({ name: '${name}', tools: { answer } });
`;
const workflow = (answer: string) => `export async function run() {
  'use workflow';
  return ${JSON.stringify(answer)};
}
`;

beforeAll(async () => {
  workspace = await rig.workspace();
  box = await workspace.boot();
});

describe('an edit arrives without a restart', () => {
  it('of an agent', async () => {
    expect(await ask()).toContain('agent-1 word-1');
    workspace.edit('deep-agents/echo/index.ts', 'agent-1', 'agent-2');
    await answers('agent-2 word-1');
  });

  it('of a module a tool imports', async () => {
    workspace.edit('lib/word.ts', 'word-1', 'word-2');
    await answers('agent-2 word-2');
  });

  it('of the Markdown files beside an agent: added, changed and removed', async () => {
    const isTold = (text: string, expected = true) =>
      eventually(async () => {
        await box.chat('echo', 'say:hi');
        return JSON.stringify(rig.model().requests.at(-1)).includes(text) === expected;
      });
    workspace.write('deep-agents/echo/instructions.md', 'Text one.\n');
    await isTold('Text one.');
    workspace.edit('deep-agents/echo/instructions.md', 'one', 'two');
    await isTold('Text two.');
    workspace.write('deep-agents/echo/skills/pay.md', '---\ndescription: How to pay.\n---\nPay.\n');
    await isTold('- pay: How to pay.');
    workspace.remove('deep-agents/echo/skills');
    workspace.remove('deep-agents/echo/instructions.md');
    await isTold('How to pay.', false);
    await isTold('Text two.', false);
  });

  it('of a workflow', async () => {
    await greets('workflow-1 hello-1 Ada');
    workspace.edit('workflows/greet.workflow.ts', 'workflow-1', 'workflow-2');
    await greets('workflow-2 hello-1 Ada');
  });

  it('of a module that holds a step', async () => {
    workspace.edit('lib/greeting.ts', 'hello-1', 'hello-2');
    await greets('workflow-2 hello-2 Ada');
  });

  it('of an input schema: the next start is held to it', async () => {
    workspace.edit('workflows/greet.workflow.ts', 'name: z.string()', 'name: z.string().max(2)');
    await eventually(async () => {
      const refused = await box.start('greet', { name: 'Ada' }).catch((error: Error) => error.message);
      return String(refused).includes('workflow_input_invalid');
    });
    workspace.edit('workflows/greet.workflow.ts', '.max(2)', '');
    await greets('workflow-2 hello-2 Ada');
  });

  it('of svc.config.ts: the default model changes', async () => {
    await box.chat('echo', 'say:hi');
    expect(rig.model().requests.at(-1)?.model).toBe('playground/scripted');
    workspace.edit('svc.config.ts', 'playground/scripted', 'scripted/two');
    await eventually(async () => {
      await box.chat('echo', 'say:hi');
      return rig.model().requests.at(-1)?.model === 'scripted/two';
    });
  });

  it('of config.schema.ts: added, changed and removed', async () => {
    const config = async () => (await box.get<{ items: Record<string, unknown>[] }>('/api/config')).items;
    const schema = (most: number) =>
      `import { defineDynamicConfig } from '@svc/runtime';
import { z } from 'zod';
export default defineDynamicConfig({ most: z.number().default(${most}) });
`;
    const hasDefault = (most: number) => eventually(async () => (await config())[0]?.default === most);
    expect(await config()).toEqual([]);
    workspace.write('config.schema.ts', schema(5));
    await hasDefault(5);
    expect(workspace.read('.svc/config.d.ts')).toContain('../config.schema.js');
    workspace.write('config.schema.ts', schema(6));
    await hasDefault(6);
    const heard = listen();
    workspace.write('config.schema.ts', 'export const most = 5;\n');
    await says(heard, 'config.schema.ts:1:', 'has no default export');
    await hasDefault(6);
    workspace.remove('config.schema.ts');
    await eventually(async () => (await config()).length === 0);
  });

  it('of a guardrail: added, changed, broken, and removed', async () => {
    const file = 'guardrails/words.guardrail.ts';
    const rule = (word: string) => `import { defineGuardrail } from '@svc/runtime';
export default defineGuardrail({
  sides: ['workflow-input'],
  action: 'block',
  check: ({ text }) => (text.includes('${word}') ? 'a word' : undefined),
});
`;
    const isRefused = (name: string, expected = true) =>
      eventually(async () => {
        const started = await box.start('greet', { name }).catch((error: Error) => error.message);
        return String(JSON.stringify(started)).includes('workflow_guardrail_blocked') === expected;
      });
    const heard = listen();
    workspace.write(file, rule('Eve'));
    await isRefused('Eve');
    workspace.edit(file, 'Eve', 'Mallory');
    await isRefused('Eve', false);
    await isRefused('Mallory');
    workspace.edit(file, 'check:', 'chekc:');
    await says(heard, file, 'chekc');
    await isRefused('Mallory');
    workspace.remove(file);
    await isRefused('Mallory', false);
    await says(heard, `removed ${file}`);
  });

  it('of a scorer: added, broken, and removed', async () => {
    const file = 'evals/short.scorer.ts';
    const target = { kind: 'workflow', name: 'greet' };
    const isTaken = (expected = true) =>
      eventually(async () => {
        const scorers = [{ type: 'code', scorer: 'short' }];
        const made = await fetch(`${box.url}/api/evals/cases`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ name: 'one', target, input: { name: 'Eve' }, scorers }),
        });
        return (made.status === 201) === expected;
      });
    const heard = listen();
    await isTaken(false);
    workspace.write(
      file,
      `import { defineScorer } from '@svc/runtime';\nexport default defineScorer({ score: ({ text }) => text.length < 9 });\n`,
    );
    await isTaken();
    workspace.edit(file, 'score:', 'scroe:');
    await says(heard, file, 'score');
    await isTaken();
    workspace.remove(file);
    await isTaken(false);
    await says(heard, `removed ${file}`);
  });

  it('of a module svc.config.ts imports', async () => {
    workspace.write('lib/model.ts', `export const model = 'scripted/three';\n`);
    workspace.write(
      'svc.config.ts',
      `import { defineConfig } from '@svc/runtime';\nimport { model } from './lib/model.ts';\nexport default defineConfig({ model });\n`,
    );
    const hasModel = (name: string) =>
      eventually(async () => {
        await box.chat('echo', 'say:hi');
        return rig.model().requests.at(-1)?.model === name;
      });
    await hasModel('scripted/three');
    workspace.edit('lib/model.ts', 'three', 'four');
    await hasModel('scripted/four');
  });

  it('of twenty in a row, the last one is what is served', async () => {
    for (const file of ['lib/word.ts', 'deep-agents/echo/index.ts']) {
      const text = workspace.read(file);
      for (let i = 1; i <= 20; i++) workspace.write(file, text.replace(/(word|agent)-\w+/, `$1-burst${i}`));
    }
    await answers('agent-burst20 word-burst20');
    const text = workspace.read('lib/word.ts');
    for (let i = 1; i <= 20; i++) {
      workspace.write('lib/word.ts', text.replace(/word-\w+/, `word-slow${i}`));
      await ask();
    }
    await answers('word-slow20');
    expect(await ask()).toContain('word-slow20');
  });
});

describe('edits while it boots', () => {
  it('are served as well', async () => {
    const fresh = await rig.workspace();
    const command = fresh.dev();
    let count = 0;
    await eventually(
      () => {
        fresh.write('lib/word.ts', `export const word = 'word-${++count}.';\n`);
        return command.stdout().includes('agent_url');
      },
      { every: 7, within: 20_000 },
    );
    const other = await fresh.attach(command);
    await eventually(async () => (await other.chat('echo', 'tool:answer {}')).includes(`word-${count}.`));
    expect(await other.stop()).toMatchObject({ code: 0 });
  });
});

describe('what is served follows the files', () => {
  it('an agent folder that is added, renamed and removed', async () => {
    workspace.write('deep-agents/second/index.ts', agent('second', 'second-1'));
    await answers('second-1', 'second');
    expect(await modelNames()).toEqual(['echo', 'second']);
    expect(workspace.read('.svc/agents.d.ts')).toContain('second');

    workspace.write('deep-agents/third/index.ts', agent('third', 'third-1'));
    workspace.remove('deep-agents/second');
    await answers('third-1', 'third');
    await eventually(async () => (await modelNames()).join() === 'echo,third');
    expect(workspace.read('.svc/agents.d.ts')).not.toContain('second');
    expect(await ask('second')).toContain('model_not_found');

    workspace.remove('deep-agents/third');
    await eventually(async () => (await modelNames()).join() === 'echo');
    expect(workspace.read('.svc/agents.d.ts')).not.toContain('third');
    expect(await ask('third')).toContain('model_not_found');
  });

  it('a workflow file that is added, renamed and removed', async () => {
    workspace.write('workflows/one.workflow.ts', workflow('one-1'));
    await eventually(async () => (await workflowNames()).includes('one'));
    const { runId } = await box.start('one', {});
    expect((await box.finish(runId)).output).toBe('one-1');
    expect(workspace.read('.svc/workflows.d.ts')).toContain('one.workflow');

    workspace.rename('workflows/one.workflow.ts', 'workflows/two.workflow.ts');
    await eventually(async () => (await workflowNames()).join() === 'five,gated,greet,nap,two');
    expect(workspace.read('.svc/workflows.d.ts')).not.toContain('one.workflow');
    expect((await box.finish((await box.start('two', {})).runId)).output).toBe('one-1');
    expect((await box.fetch('/api/workflows/one')).status).toBe(404);

    workspace.remove('workflows/two.workflow.ts');
    await eventually(async () => (await workflowNames()).join() === 'five,gated,greet,nap');
    expect(workspace.read('.svc/workflows.d.ts')).not.toContain('two.workflow');
  });

  it('a folder that is renamed as a whole, once the name inside follows', async () => {
    workspace.write('deep-agents/before/index.ts', agent('before', 'moved'));
    await answers('moved', 'before');
    const heard = listen();
    workspace.rename('deep-agents/before', 'deep-agents/after');
    await says(heard, 'agent_name_mismatch', 'deep-agents/after/index.ts');
    workspace.edit('deep-agents/after/index.ts', 'before', 'after');
    await answers('moved', 'after');
    expect(await modelNames()).toEqual(['after', 'echo']);
    workspace.remove('deep-agents/after');
    await eventually(async () => (await modelNames()).join() === 'echo');
  });

  it('a name that is removed and comes back is loaded afresh', async () => {
    workspace.write('deep-agents/back/index.ts', agent('back', 'back-1'));
    await answers('back-1', 'back');
    workspace.remove('deep-agents/back');
    await eventually(async () => (await modelNames()).join() === 'echo');
    workspace.write('deep-agents/back/index.ts', agent('back', 'back-2'));
    await answers('back-2', 'back');
    workspace.remove('deep-agents/back');
    await eventually(async () => (await modelNames()).join() === 'echo');
  });
});

describe('an edit that does not work leaves the last good version answering', () => {
  it('a syntax error in an agent: reported with file, line and frame, and over when it is corrected', async () => {
    const good = workspace.read('deep-agents/echo/index.ts');
    const heard = listen();
    workspace.edit('deep-agents/echo/index.ts', 'defineTool({', 'defineTool({ ,');
    await says(heard, 'deep-agents/echo/index.ts:5:', 'syntax_error', '> 5 |', '^');
    expect(await ask()).toContain('agent-burst20');
    workspace.write('deep-agents/echo/index.ts', good.replace('burst20', 'fixed'));
    await answers('agent-fixed');
  });

  it('a syntax error in an imported module', async () => {
    const heard = listen();
    workspace.write('lib/word.ts', `export const word = ;\n`);
    await says(heard, 'lib/word.ts:1:', '> 1 |');
    expect(await ask()).toContain('slow20');
    workspace.write('lib/word.ts', `export const word = 'word-fixed';\n`);
    await answers('word-fixed');
  });

  it('a schedule that cannot work, at its place', async () => {
    const heard = listen();
    const late = (cron: string) =>
      `export async function late() {\n  'use workflow';\n}\nexport const schedules = [\n  { cron: '${cron}' },\n];\n`;
    workspace.write('workflows/late.workflow.ts', late('61 * * * *'));
    await says(heard, 'workflows/late.workflow.ts:5:11', '"61 * * * *" is not usable', '> 5 |');
    const reloaded = listen();
    workspace.write('workflows/late.workflow.ts', late('1 0 1 1 *'));
    await says(reloaded, 'reloaded workflows/late.workflow.ts');
    workspace.remove('workflows/late.workflow.ts');
  });

  it('a module that throws', async () => {
    const heard = listen();
    workspace.write('lib/word.ts', `export const word = 'lost';\nthrow new Error('no luck today');\n`);
    await says(heard, 'lib/word.ts:2:', 'no luck today', '> 2 |');
    expect(await ask()).toContain('word-fixed');
    workspace.write('lib/word.ts', `export const word = 'word-well';\n`);
    await answers('word-well');
  });

  it('an import of a module that is not there yet', async () => {
    const good = workspace.read('deep-agents/echo/index.ts');
    const heard = listen();
    workspace.write('deep-agents/echo/index.ts', good.replace('lib/word.ts', 'lib/later.ts'));
    await says(heard, 'deep-agents/echo/index.ts', 'later.ts');
    expect(await ask()).toContain('word-well');
    workspace.write('lib/later.ts', `export const word = 'word-later';\n`);
    await answers('word-later');
    workspace.write('deep-agents/echo/index.ts', good);
    await answers('word-well');
  });

  it('a new agent whose module does not load is named, and answers once it does', async () => {
    const heard = listen();
    workspace.write('lib/broken.ts', `export const word = (;\n`);
    workspace.write(
      'deep-agents/late/index.ts',
      agent('late', 'late-1').replace('=> "late-1"', '=> word').concat(`import { word } from '../../lib/broken.ts';\n`),
    );
    await says(heard, 'lib/broken.ts:1:');
    expect(await ask('late')).toContain('agent_load_failed');
    expect(await ask()).toContain('word-well');
    workspace.write('lib/broken.ts', `export const word = 'late-word';\n`);
    await answers('late-word', 'late');
    workspace.remove('deep-agents/late');
    await eventually(async () => (await modelNames()).join() === 'echo');
  });

  it('a directive that is misspelled: the check says so, with its code and place', async () => {
    const heard = listen();
    workspace.edit('workflows/greet.workflow.ts', `'use workflow'`, `'use workflows'`);
    await says(heard, 'directive_misspelled', `Write 'use workflow'.`, 'workflows/greet.workflow.ts:7:', '>  7 |');
    await greets('workflow-2 hello-2 Ada');
    workspace.edit('workflows/greet.workflow.ts', `'use workflows'`, `'use workflow'`);
    workspace.edit('workflows/greet.workflow.ts', 'workflow-2', 'workflow-3');
    await greets('workflow-3 hello-2 Ada');
  });

  it('svc.config.ts: reported, and the last good settings stay', async () => {
    const good = workspace.read('svc.config.ts');
    const heard = listen();
    workspace.write('svc.config.ts', `export default {;\n`);
    await says(heard, 'svc.config.ts:1:', '> 1 |');
    await box.chat('echo', 'say:hi');
    expect(rig.model().requests.at(-1)?.model).toBe('scripted/four');
    workspace.write('svc.config.ts', good.replace('({ model })', `({ model: 'scripted/five' })`));
    await eventually(async () => {
      await box.chat('echo', 'say:hi');
      return rig.model().requests.at(-1)?.model === 'scripted/five';
    });
  });

  it('the same error is reported once while other files change', async () => {
    const heard = listen();
    workspace.write('deep-agents/odd/index.ts', `export default 1;\n`);
    await says(heard, 'deep-agents/odd/index.ts');
    workspace.edit('lib/word.ts', 'word-well', 'word-end');
    await answers('word-end');
    expect(heard().match(/deep-agents\/odd\/index\.ts:\d+:\d+ \w+: /g)).toHaveLength(1);
    workspace.remove('deep-agents/odd');
    await eventually(async () => (await modelNames()).join() === 'echo');
  });
});
