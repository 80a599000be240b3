import { expect, it } from 'vitest';
import { checkWorkspace } from '../src/check/check.ts';
import { createLateChecks } from '../src/check/late.ts';
import { createWorkspace } from './_setup.ts';

const FILES = {
  'lib/steps.ts': `export async function charge(amount: number) {\n  'use step';\n  return amount;\n}\n`,
  'lib/limits.ts': `import { createLimit } from 'p-limit';\nexport const limit = createLimit(3);\nexport const queue = createLimit(9) as any;\n`,
  'lib/again.ts': `export async function again(work: () => Promise<unknown>) {\n  return work();\n}\n`,
};

const HEAD = `import { sleep } from '@svc/runtime';
import { createLimit } from 'p-limit';
import { again } from './again.ts';
import { limit, queue } from './limits.ts';
import { charge } from './steps.ts';

const own = createLimit(1);
const chargeTwice = async () => {
  await charge(1);
  await charge(2);
};
`;

/** The problems of a helper of these lines: `<line of the helper>: <message>`. */
async function problemsOf(lines: string, more = ''): Promise<string[]> {
  const helper = `${HEAD}${more}export async function help(items: number[]) {\n${lines}\n}\n`;
  const workflow = `import { help } from '../lib/help.ts';\nexport async function run() {\n  'use workflow';\n  await help([1]);\n}\n`;
  const root = createWorkspace({
    ...FILES,
    'node_modules/p-limit/package.json': '{"name":"p-limit","type":"module","exports":"./index.js"}',
    'node_modules/p-limit/index.js': 'export const createLimit = () => (work) => work();\n',
    'lib/help.ts': helper,
    'workflows/a.workflow.ts': workflow,
  });
  expect((await checkWorkspace({ root })).problems).toEqual([]);
  const first = `${HEAD}${more}`.split('\n').length + 1;
  return (await createLateChecks({ root }).find()).map(({ code, file, line = 0, message }) => {
    expect([code, file]).toEqual(['helper_not_bound', 'lib/help.ts']);
    return `${line - first}: ${message.slice(0, message.indexOf('('))}`;
  });
}

it.each([
  ['a step to a limiter of the module', 'await own(() => charge(1));', ['0: own']],
  ['a step to a limiter of another module', 'await limit(() => charge(1));', ['0: limit']],
  ['a step by its name', 'await limit(charge, 1);', ['0: limit']],
  ['a function that calls a step, by its name', 'await limit(chargeTwice);', ['0: limit']],
  ['one that calls such a function', 'await limit(async () => { await chargeTwice(); });', ['0: limit']],
  ['a wait', 'await limit(() => sleep(1));', ['0: limit']],
  ['a step to a method of it', 'await queue.add(() => charge(1));', ['0: queue.add']],
  ['each in a callback', 'await Promise.all(items.map((n) => limit(() => charge(n))));', ['0: limit']],
  ['nothing, and imports', "\nconst { x } = await import('./steps.ts');", ['1: A workflow runs this import']],
])('a helper without a directive that hands on %s is named', async (_, lines, problems) => {
  expect(await problemsOf(lines)).toEqual(problems);
});

it.each([
  'await again(() => charge(1));',
  'await limit(async () => items.length);',
  'await Promise.all(items.map((n) => charge(n)));',
  'const mine = createLimit(1);\nawait mine(() => charge(1));',
  'await charge(1).then(() => charge(2));',
])('%s is not', async (lines) => {
  expect(await problemsOf(lines)).toEqual([]);
});

it('a helper in a file with a directive is not, nor one that no workflow reaches', async () => {
  const step = `async function two() {\n  'use step';\n}\n`;
  expect(await problemsOf("await limit(() => charge(1));\nawait import('./steps.ts');", step)).toEqual([]);
  const other = `export const elsewhere = () => limit(() => charge(1));\n`;
  expect(await problemsOf('await charge(items.length);', other)).toEqual([]);
});
