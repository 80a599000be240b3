import { expect, it } from 'vitest';
import { createLateChecks } from '../src/check/late.ts';
import { checkWorkspace } from '../src/check/check.ts';
import { createWorkspace, writeFile } from './_setup.ts';

const BANK = `export interface Payment { id: string }
export type Amount = number;
export async function sendPayment() {
  'use step';
}
export const { limit, rest: { deep } } = { limit: 1, rest: { deep: 2 } };
export default class Bank {}
`;

const workflow = (imports: string, body = '') =>
  `${imports}\nexport async function refund() {\n  'use workflow';\n  ${body}\n}\n`;

async function problemsOf(files: Record<string, string>) {
  const problems = await createLateChecks({ root: createWorkspace({ 'lib/bank.ts': BANK, ...files }) }).find();
  return problems.map(({ file, line, column, code, message }) => `${file}:${line}:${column} ${code}: ${message}`);
}

it('an import of what the module does not export is named where it stands, with what is meant', async () => {
  const source = workflow(`\n\nimport { sendPaymnt } from '../lib/bank.ts';`, 'await sendPaymnt();');
  expect(await problemsOf({ 'workflows/refund.workflow.ts': source })).toEqual([
    'workflows/refund.workflow.ts:3:10 export_missing: "lib/bank.ts" exports no "sendPaymnt". Did you mean "sendPayment"?',
  ]);
});

it('so is one of a module that a module imports, and one that is exported again', async () => {
  const files = {
    'lib/a.ts': `import { nothingLikeIt } from './bank.ts';\nexport { limt } from './bank.ts';\nexport const a = nothingLikeIt;\n`,
    'workflows/refund.workflow.ts': workflow(`import { a } from '../lib/a.ts';`, 'return a;'),
  };
  expect(await problemsOf(files)).toEqual([
    'lib/a.ts:1:10 export_missing: "lib/bank.ts" exports no "nothingLikeIt". Correct the name, or export it there.',
    'lib/a.ts:2:10 export_missing: "lib/bank.ts" exports no "limt". Did you mean "limit"?',
  ]);
});

it.each([
  `import { sendPayment, limit, deep, Payment, type Gone } from '../lib/bank.ts';`,
  `import Bank, * as bank from '../lib/bank.ts';`,
  `import type { Nothing } from '../lib/bank.ts';`,
  `import { sendPayment } from '../lib/all.ts';`,
  `import { whatever } from '../lib/open.ts';`,
  `import { anything } from '../lib/common.js';`,
  `import { Payment as P, Amount } from '../lib/bank.js';`,
])('%s is not', async (line) => {
  const files = {
    'lib/all.ts': `export * from './bank.ts';\nexport * from './all.ts';\n`,
    'lib/open.ts': `export * from 'node:fs';\n`,
    'lib/common.js': `exports.anything = 1;\n`,
  };
  expect(await problemsOf({ ...files, 'workflows/refund.workflow.ts': workflow(line) })).toEqual([]);
});

it('a name that is right where it is used, and misspelt in the import, is a mistake of the import', async () => {
  const source = workflow(`import { sendPaymnt } from '../lib/bank.ts';`, 'await sendPayment();');
  const root = createWorkspace({ 'lib/bank.ts': BANK, 'workflows/refund.workflow.ts': source });
  expect((await checkWorkspace({ root })).problems).toMatchObject([
    {
      code: 'export_missing',
      line: 1,
      column: 10,
      message: '"lib/bank.ts" exports no "sendPaymnt". Did you mean "sendPayment"?',
    },
  ]);
});

it('a workflow that is started by a name there is none of', async () => {
  const agent = `import { defineDeepAgent, svc as box } from '@svc/runtime';
const { start } = box.workflows;
export const go = async (name: string) => {
  await box.workflows.start('refnd', {});
  await start('refudn', {});
  await box.workflows.start(name, {});
  await other.workflows.start('elsewhere', {});
  return box.workflows.startAndWait('nothing-near', {});
};
export default defineDeepAgent({ name: 'desk' });
`;
  expect(
    await problemsOf({ 'deep-agents/desk/index.ts': agent, 'workflows/refund.workflow.ts': workflow('') }),
  ).toEqual([
    'deep-agents/desk/index.ts:4:29 workflow_unknown: This workspace has no workflow "refnd", so the call fails. Did you mean "refund"?',
    'deep-agents/desk/index.ts:5:15 workflow_unknown: This workspace has no workflow "refudn", so the call fails. Did you mean "refund"?',
    'deep-agents/desk/index.ts:8:37 workflow_unknown: This workspace has no workflow "nothing-near", so the call fails. There is "refund".',
  ]);
});

it('sees each edit, and that it is mended', async () => {
  const root = createWorkspace({
    'lib/bank.ts': BANK,
    'workflows/refund.workflow.ts': workflow(`import { sendPayment } from '../lib/bank.ts';`, 'sendPayment();'),
  });
  const late = createLateChecks({ root });
  expect((await late.find()).map(({ code }) => code)).toEqual(['step_not_awaited']);
  writeFile(root, 'lib/bank.ts', BANK.replace('sendPayment', 'sendMoney'));
  expect((await late.find()).map(({ code }) => code)).toEqual(['export_missing']);
  writeFile(root, 'lib/bank.ts', BANK);
  writeFile(root, 'workflows/refund.workflow.ts', workflow(''));
  expect(await late.find()).toEqual([]);
});

it('a workflow file in a folder that is not read is named, with where to move it', async () => {
  const source = `export async function ok() {\n  'use workflow';\n}\n`;
  const stray = ['flows/ok.workflow.ts', 'src/deep/other.workflow.ts', 'root.workflow.ts'];
  const left = [
    'node_modules/p/a.workflow.ts',
    '.hidden/b.workflow.ts',
    'test/c.workflow.ts',
    'src/fixtures/d.workflow.ts',
    'dist/e.workflow.ts',
    'examples/own/workflows/f.workflow.ts',
    'packages/bot/workflows/g.workflow.ts',
    'packages/bot/src/h.workflow.ts',
    'packages/desk/src/i.workflow.ts',
    'packages/conf/src/j.workflow.ts',
  ];
  const files = Object.fromEntries([...stray, ...left].map((file) => [file, source]));
  const none = { 'flows/none.workflow.ts': 'export const none = 1;\n', 'examples/own/svc.json': '{}\n' };
  const marks = { 'packages/desk/deep-agents/desk/index.ts': '', 'packages/conf/svc.config.ts': '' };
  const way = (file: string, to: string) =>
    `${file}:2:3 workflow_outside_folder: 'use workflow' is outside of workflows/*.workflow.ts, so nothing can start it. Move the file to "${to}".`;
  expect(await problemsOf({ ...files, ...none, ...marks })).toEqual([
    way('flows/ok.workflow.ts', 'workflows/ok.workflow.ts'),
    way('root.workflow.ts', 'workflows/root.workflow.ts'),
    way('src/deep/other.workflow.ts', 'workflows/other.workflow.ts'),
  ]);
});

it('names through many barrels are found without the others being kept from their turn', async () => {
  const files: Record<string, string> = {};
  const parts = Array.from({ length: 100 }, (_, part) => part);
  for (const part of parts)
    files[`lib/part-${part}.ts`] = Array.from({ length: 100 }, (_, i) => `export const a${part}_${i} = 1;\n`).join('');
  files['lib/all.ts'] = [
    ...parts.map((part) => `export * from './part-${part}.ts';\n`),
    `export * from './all.ts';\n`,
  ].join('');
  const names = Array.from({ length: 5_000 }, (_, i) => `a${i % 100}_${Math.floor(i / 100)}`);
  files['workflows/refund.workflow.ts'] = workflow(`import { ${names.join(', ')}, a1_x } from '../lib/all.ts';`);
  const late = createLateChecks({ root: createWorkspace(files) });
  expect(await late.find()).toMatchObject([{ code: 'export_missing' }]);
  const before = performance.now();
  await late.find();
  expect(performance.now() - before).toBeLessThan(2_000);
});

it('ends with nothing once it is stopped', async () => {
  const source = `export async function ok() {\n  'use workflow';\n}\n`;
  const late = createLateChecks({ root: createWorkspace({ 'flows/ok.workflow.ts': source }) });
  expect(await late.find(AbortSignal.abort())).toEqual([]);
  expect(await late.find()).toHaveLength(1);
});
