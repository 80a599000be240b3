// Kinds of edits, each made to a workflow of its own. What a version answers names it, so the result of a run says whose code
// it is of.

export type Files = Record<string, string | null>;

export const PARKS = ['sleep', 'hook', 'approval', 'child', 'turn'] as const;
export type Park = (typeof PARKS)[number];

export interface Edit {
  /** What is done, in words. */
  name: string;
  workflow: string;
  files: readonly [Files, Files];
  /** What a run that began on the first version answers, however the second one came. `today`: what is read of the machine. */
  answer(id: string, today: string): unknown[];
  /** The agent that is edited: its turn is what waits, where a turn does. */
  agent?: string;
  /** A token of the run's own that has to be resumed, by the version it ends on. */
  token?(id: string, version: 1 | 2): string;
  /** Where the second version does not fit a run that waits: the code of the stop. */
  stop?: string;
  /** What a run that is moved answers, or how it ends. Default: what it had, and the rest by the second version. */
  moved?(id: string): unknown;
}

/** What every version has. */
export const COMMON: Files = {
  'lib/park.ts': `import { createHook, requestApproval, sleep, svc } from '@svc/runtime';
export interface Parked { id: string; park: string; until: number }
export async function park({ id, park, until }: Parked): Promise<void> {
  if (park === 'sleep') await sleep(new Date(until));
  if (park === 'hook') await createHook({ token: 'go-' + id });
  if (park === 'approval') await requestApproval({ title: id });
  if (park === 'child') await svc.workflows.startAndWait('waiter', { id });
  if (park === 'turn') await svc.agent('asker').session().send('tool:act {}; say:Done.');
}
`,
  'workflows/waiter.workflow.ts': `import { createHook } from '@svc/runtime';
export async function waiter(input: { id: string }) { 'use workflow'; await createHook({ token: 'child-' + input.id }); }
`,
  'workflows/leaf-a.workflow.ts': `export async function leafA() { 'use workflow'; return 'leaf a'; }\n`,
  'workflows/leaf-b.workflow.ts': `export async function leafB() { 'use workflow'; return 'leaf b'; }\n`,
};

interface Flow {
  version: number;
  imports?: string;
  exports?: string;
  /** By default `one` and `two`, each of which names the version. */
  steps?: string;
  before?: string;
  after?: string;
}

const stepOf = (name: string, version: number): string =>
  `async function ${name}(text: string) { 'use step'; return '${name}-${version} ' + text; }\n`;

function flow({ version, imports = '', exports = '', steps, before, after }: Flow): string {
  return `import { createHook, getStepMetadata, svc } from '@svc/runtime';
import { z } from 'zod';
import { park } from '../lib/park.ts';
import type { Parked } from '../lib/park.ts';
${imports}
${exports}
${steps ?? stepOf('one', version) + stepOf('two', version)}
export async function flow(input: Parked) {
  'use workflow';
  const done: unknown[] = [];
  ${before ?? `done.push(await one(input.id));`}
  await park(input);
  ${after ?? `done.push(await two(input.id));`}
  return done;
}
void [createHook, getStepMetadata, svc, z];
`;
}

/** One file that differs as `make` says, with the names of steps and what they answer. */
function ofFlow(
  name: string,
  slug: string,
  make: (version: number) => Omit<Flow, 'version'>,
  more: Partial<Edit> = {},
): Edit {
  const file = `workflows/${slug}.workflow.ts`;
  const files = [1, 2].map((version) => ({ [file]: flow({ version, ...make(version) }) })) as [Files, Files];
  return { name, workflow: slug, files, answer: (id) => [`one-1 ${id}`, `two-1 ${id}`], ...more };
}

function withFiles(edit: Edit, first: Files, second: Files): Edit {
  return {
    ...edit,
    files: [
      { ...edit.files[0], ...first },
      { ...edit.files[1], ...second },
    ],
  };
}

const inFirst = (version: number, first: string, second: string): string => (version === 1 ? first : second);

const ofCode: Edit[] = [
  ofFlow(
    'renames a step',
    'renames',
    (version) =>
      version === 1
        ? {}
        : {
            steps: stepOf('first', 2) + stepOf('second', 2),
            before: 'done.push(await first(input.id));',
            after: 'done.push(await second(input.id));',
          },
    { stop: 'code_changed' },
  ),
  ofFlow(
    'changes the order of steps',
    'reorders',
    (version) =>
      version === 1 ? {} : { before: 'done.push(await two(input.id));', after: 'done.push(await one(input.id));' },
    { stop: 'code_changed' },
  ),
  ofFlow(
    'inserts a step',
    'inserts',
    (version) =>
      version === 1
        ? {}
        : {
            steps: ['zero', 'one', 'two'].map((name) => stepOf(name, 2)).join(''),
            before: 'done.push(await zero(input.id), await one(input.id));',
          },
    { stop: 'code_changed' },
  ),
  ofFlow('removes a step', 'removes', (version) => (version === 1 ? {} : { before: '' }), { stop: 'code_changed' }),
  ofFlow(
    'hands a step something else',
    'arguments',
    (version) =>
      version === 1
        ? {}
        : { before: `done.push(await one(input.id + '!'));`, after: `done.push(await two(input.id + '!'));` },
    { stop: 'code_changed' },
  ),
  ofFlow(
    'changes how often a step is tried',
    'retries',
    (version) => ({
      steps: `${stepOf('one', version)}async function two(text: string) {
  'use step';
  const { attempt } = getStepMetadata();
  if (attempt < 3) throw new Error('Not yet.');
  return 'two-${version} ' + text + ' ' + attempt;
}
two.maxRetries = ${inFirst(version, '2', '0')};
two.backoff = { initial: 10, factor: 1 };
`,
    }),
    // Tried once, by the rule of its new code.
    { answer: (id) => [`one-1 ${id}`, `two-1 ${id} 3`], moved: () => ({ status: 'failed' }) },
  ),
  ofFlow(
    'has another schema',
    'schemas',
    (version) => ({
      exports: inFirst(
        version,
        'export const outputSchema = z.array(z.string());',
        `export const inputSchema = z.object({ other: z.string() });\nexport const outputSchema = z.object({ n: z.number() });`,
      ),
    }),
    { moved: () => ({ status: 'failed' }) },
  ),
  ofFlow('has a shorter timeout', 'timeouts', (version) => ({
    exports: `export const timeout = '${inFirst(version, '1 hour', '1s')}';`,
  })),
  ofFlow('has another key of its lock', 'serials', (version) => ({
    exports: inFirst(
      version,
      'export const serial = { key: (input: Parked) => input.id };',
      `export const serial = { key: () => 'all', onConflict: 'reject' as const };`,
    ),
  })),
  ofFlow(
    'has another token of a hook',
    'tokens',
    (version) => ({
      after: `await createHook({ token: 'own-${version}-' + input.id });\n  done.push(await two(input.id));`,
    }),
    { token: (id, version) => `own-${version}-${id}` },
  ),
  ofFlow(
    'starts another child',
    'children',
    (version) => ({ after: `done.push(await svc.workflows.startAndWait('leaf-${inFirst(version, 'a', 'b')}', {}));` }),
    { answer: (id) => [`one-1 ${id}`, 'leaf a'], moved: (id) => [`one-1 ${id}`, 'leaf b'] },
  ),
  ofFlow(
    'is none, but the environment is another',
    'environment',
    (version) => ({
      steps: `${stepOf('one', version)}async function two(text: string) { 'use step'; return 'two-${version} ' + text + ' ' + process.env.SVC_MATRIX_TODAY; }\n`,
    }),
    { answer: (id, today) => [`one-1 ${id}`, `two-1 ${id} ${today}`] },
  ),
];

const label = (version: number): string => `export const label = (text: string) => 'label-${version} ' + text;\n`;
const labelled = { answer: (id: string) => [`one-1 ${id}`, `label-1 ${id}`] };
// A step at the top of its module: two builds that are served in one process, as tests do, share what is known by name.
const useLabel =
  (from: string) =>
  (version: number): Omit<Flow, 'version'> => ({
    imports: `import { label } from '${from}';`,
    steps: `${stepOf('one', version)}async function last(text: string) { 'use step'; return label(text); }\n`,
    after: `done.push(await last(input.id));`,
  });
const moved = (version: number): string =>
  `export async function last(text: string) { 'use step'; return 'last-${version} ' + text; }\n`;
const price = (version: number): Files => ({
  'node_modules/prices/package.json': JSON.stringify({
    name: 'prices',
    version: `${version}.0.0`,
    type: 'module',
    main: 'index.js',
  }),
  'node_modules/prices/index.js': `export const label = (text) => 'label-${version} ' + text;\n`,
});

const ofFiles: Edit[] = [
  withFiles(
    ofFlow('changes a helper', 'helpers', useLabel('../lib/label.ts'), labelled),
    { 'lib/label.ts': label(1) },
    { 'lib/label.ts': label(2) },
  ),
  withFiles(ofFlow('updates a package', 'packages', useLabel('prices'), labelled), price(1), price(2)),
  withFiles(
    ofFlow(
      'moves a file with a step',
      'moves',
      (version) => ({
        imports: `import { last } from '../lib/${inFirst(version, 'here', 'there')}/last.ts';`,
        after: `done.push(await last(input.id));`,
      }),
      { answer: (id) => [`one-1 ${id}`, `last-1 ${id}`] },
    ),
    { 'lib/here/last.ts': moved(1) },
    { 'lib/here/last.ts': null, 'lib/there/last.ts': moved(2) },
  ),
  withFiles(
    ofFlow('deletes the workflow', 'deletes', () => ({}), { stop: 'workflow_not_found' }),
    {},
    { 'workflows/deletes.workflow.ts': null },
  ),
];

interface AgentEdit {
  /** What its model is told, in the order of its calls. */
  script?: (id: string) => string;
  options: (version: number) => string;
  md?: boolean;
}

/** A workflow that asks the agent, which asks for an approval. Parked in its turn, that is what waits. */
function ofAgent(name: string, slug: string, { options, md = false, script }: AgentEdit): Edit {
  const agent = `${slug}-agent`;
  const dir = `deep-agents/${agent}`;
  const text = script?.('${input.id}') ?? 'tool:act {}; say:${input.id}';
  const make = (version: number): Files => ({
    [`${dir}/index.ts`]: `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';
const act = defineTool({ description: 'Acts.', inputSchema: z.object({}), execute: () => 'act-${inFirst(version, '1', slug === 'tools' ? '2' : '1')}' });
export default defineDeepAgent({ name: '${agent}', tools: { act }, interruptOn: { act: true }, ${options(version)} });
`,
    ...(md ? { [`${dir}/instructions.md`]: `Text-${version}.\n` } : {}),
  });
  const body = ofFlow(name, slug, () => ({
    before: `done.push(await one(input.id));\n  if (input.park !== 'turn')`,
    after: `const { text } = await svc.agent('${agent}').session().send(\`${text}\`);\n  done.push(text === '' ? '' : 'said');\n  done.push(await two(input.id));`,
  }));
  return {
    ...withFiles(body, make(1), make(2)),
    agent,
    answer: (id) => [`one-1 ${id}`, 'said', `two-1 ${id}`],
  };
}

const ofAgents: Edit[] = [
  ofAgent('changes a tool of an agent', 'tools', { options: () => '' }),
  ofAgent('changes what an agent is told', 'prompts', { options: (version) => `instructions: 'Text-${version}.'` }),
  ofAgent('changes the Markdown of an agent', 'markdown', { options: () => '', md: true }),
  ofAgent('changes a sub-agent', 'helpers-of-agents', {
    options: (version) =>
      `subagents: [{ name: 'helper', description: 'Helps.', instructions: 'Text-${version}.' }], instructions: 'Top.'`,
    script: (id) => `tool:act {}; tool:task {"subagent_type":"helper","description":"say:help ${id}"}; say:${id}`,
  }),
  ofAgent('changes the answer of an agent', 'outputs', {
    options: (version) => `output: z.object({ ${inFirst(version, 'a', 'b')}: z.string() })`,
    // Fits both.
    script: (id) => `tool:act {}; say:{"a":"${id}","b":"${id}"}`,
  }),
  ofAgent('changes the model of an agent', 'models', { options: (version) => `model: 'matrix/model-${version}'` }),
];

export const EDITS: readonly Edit[] = [...ofCode, ...ofFiles, ...ofAgents];

/** An agent that asks before it acts, the same in both versions. */
COMMON['deep-agents/asker/index.ts'] = `import { defineDeepAgent, defineTool } from '@svc/runtime';
import { z } from 'zod';
const act = defineTool({ description: 'Acts.', inputSchema: z.object({}), execute: () => 'acted' });
export default defineDeepAgent({ name: 'asker', tools: { act }, interruptOn: { act: true } });
`;

export function filesOf(version: 1 | 2, edits: readonly Edit[] = EDITS): Files {
  return Object.assign({}, COMMON, ...edits.map(({ files }) => files[version - 1])) as Files;
}

/** Which version of the agent had the turn, by what its model was asked about the run. */
export function versionTold(slug: string, asked: readonly Asked[]): string[] {
  const told = asked.map((request) => {
    if (slug === 'models') return /model-(\d)/.exec(request.model)?.[1];
    const text = JSON.stringify(request);
    if (slug === 'outputs') return text.includes('"required":["a"]') ? '1' : '2';
    return slug === 'tools' ? /act-(\d)/.exec(text)?.[1] : /Text-(\d)/.exec(text)?.[1];
  });
  return [...new Set(told.filter((version) => version !== undefined))];
}

export interface Asked {
  model: string;
  messages: { role: string; content: unknown }[];
}
