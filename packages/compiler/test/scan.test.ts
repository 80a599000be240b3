import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkScan } from '../src/check/check.ts';
import { createScanner, scanWorkspace } from '../src/scan.ts';
import type { Scan, ScannedWorkflow } from '../src/scan.ts';
import { createWorkspace, FIXTURES, writeFile } from './_setup.ts';

const workflow = (name: string) => `export async function ${name}() {\n  'use workflow';\n}\n`;
const step = (name: string) => `export async function ${name}() {\n  'use step';\n}\n`;
const cacheOf = (root: string) => join(root, '.svc/cache/scan.json');

function entry(name: string, file: string): ScannedWorkflow {
  const schemas = { hasInputSchema: false, hasOutputSchema: false, hasStateSchema: false };
  return { name, file, modules: [], exportName: 'run', ...schemas };
}

/** Makes a file old enough for its time and size to be trusted. */
function age(root: string, file: string): void {
  const past = new Date(Date.now() - 60_000);
  utimesSync(join(root, file), past, past);
}

describe('a scan', () => {
  it('lists entries in the order of their names', async () => {
    const names = ['b', 'a-2', 'a', '0'];
    const root = createWorkspace(
      Object.fromEntries(names.map((name) => [`workflows/${name}.workflow.ts`, workflow('run')])),
    );
    const { workflows } = await scanWorkspace({ root });
    expect(workflows.map(({ name }) => name)).toEqual(['0', 'a', 'a-2', 'b']);
  });

  it('leaves the event loop to others, and scans that overlap come one after the other', async () => {
    // All of one entry: a module imports the next one, and calls it.
    const rest = Array.from({ length: 20 }, (_, n) => step(`step${n}`)).join('');
    const module = (n: number) =>
      `import { f${n + 1} } from './m${n + 1}.ts';\nexport const f${n} = () => f${n + 1}();\n${rest}`;
    const modules = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`lib/m${n}.ts`, module(n)]));
    const main = `import { f0 } from '../lib/m0.ts';\nexport async function main() {\n  'use workflow';\n  f0();\n}\n`;
    const root = createWorkspace({ ...modules, 'workflows/main.workflow.ts': main });
    const scanner = createScanner({ root });
    const ended: string[] = [];
    let turns = 0;
    const first = scanner.scan().finally(() => ended.push('first'));
    writeFile(root, 'workflows/added.workflow.ts', workflow('run'));
    const others = ['second', 'third'].map((name) => scanner.scan().finally(() => ended.push(name)));
    while (ended.length < 1) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    expect(turns).toBeGreaterThan(3);
    const [second, third] = await Promise.all(others);
    expect(ended).toEqual(['first', 'second', 'third']);
    expect((await first).workflows.map(({ name }) => name)).toContain('main');
    expect(second?.workflows.map(({ name }) => name)).toEqual(['added', 'main']);
    expect(Object.keys(second?.files ?? {})).toHaveLength(62);
    expect(third).toEqual(second);
  });

  it('sees a file that was added, changed or removed since', async () => {
    const root = createWorkspace({ 'workflows/a.workflow.ts': workflow('first') });
    const scanner = createScanner({ root, cacheFile: cacheOf(root) });
    const exportNames = async () =>
      Object.entries((await scanner.scan()).files).map(
        ([file, { workflows }]) => `${file} ${workflows[0]?.exportName}`,
      );
    expect(await exportNames()).toEqual(['workflows/a.workflow.ts first']);
    writeFile(root, 'workflows/a.workflow.ts', workflow('other'));
    writeFile(root, 'workflows/b.workflow.ts', workflow('second'));
    expect(await exportNames()).toEqual(['workflows/a.workflow.ts other', 'workflows/b.workflow.ts second']);
    rmSync(join(root, 'workflows/a.workflow.ts'));
    expect(await exportNames()).toEqual(['workflows/b.workflow.ts second']);
  });

  it('sees a change that kept the size and the time of a file just written', async () => {
    const root = createWorkspace({ 'workflows/a.workflow.ts': workflow('one') });
    const scanner = createScanner({ root });
    // However long the scan takes, it reads what has just been written.
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const at = new Date();
    const path = join(root, 'workflows/a.workflow.ts');
    utimesSync(path, at, at);
    await scanner.scan();
    writeFileSync(path, workflow('two'));
    utimesSync(path, at, at);
    const { files } = await scanner.scan();
    expect(files['workflows/a.workflow.ts']?.workflows[0]?.exportName).toBe('two');
  });

  it('takes from the cache file what did not change, by time and size or else by content', async () => {
    const root = createWorkspace({
      'workflows/a.workflow.ts': workflow('run'),
      'workflows/b.workflow.ts': workflow('run'),
    });
    age(root, 'workflows/a.workflow.ts');
    await scanWorkspace({ root, cacheFile: cacheOf(root) });
    writeFileSync(cacheOf(root), readFileSync(cacheOf(root), 'utf8').replaceAll('"run"', '"cached"'));
    writeFile(root, 'workflows/b.workflow.ts', workflow('run'));
    const { files } = await scanWorkspace({ root, cacheFile: cacheOf(root) });
    expect(Object.values(files).map(({ workflows }) => workflows[0]?.exportName)).toEqual(['cached', 'cached']);
  });

  it('does without a cache file that is broken or of another compiler', async () => {
    const root = createWorkspace({ 'workflows/a.workflow.ts': workflow('run') });
    for (const text of ['{', '[]', '{"version":"0.0.0","files":{"workflows/a.workflow.ts":{}}}']) {
      writeFile(root, '.svc/cache/scan.json', text);
      const { workflows } = await scanWorkspace({ root, cacheFile: cacheOf(root) });
      expect(workflows).toHaveLength(1);
    }
    expect(readdirSync(join(root, '.svc/cache'))).toEqual(['scan.json']);
  });

  it('answers scans that overlap one after the other', async () => {
    const names = ['a', 'b', 'c', 'd'].map((name) => `workflows/${name}.workflow.ts`);
    const root = createWorkspace(Object.fromEntries(names.map((file) => [file, workflow('run')])));
    const scanner = createScanner({ root, cacheFile: cacheOf(root) });
    const scans = await Promise.all([scanner.scan(), scanner.scan(), scanner.scan()]);
    expect(scans.map(({ workflows }) => workflows.length)).toEqual([4, 4, 4]);
    const cache = JSON.parse(readFileSync(cacheOf(root), 'utf8')) as { files: object };
    expect(Object.keys(cache.files)).toEqual(names);
  });

  it('follows imports through folders, endings and cycles, and leaves packages alone', async () => {
    const root = createWorkspace({
      'workflows/a.workflow.ts': `import '../lib';\nimport '../node_modules/pkg/index.js';\nimport 'pkg';\n${workflow('run')}`,
      'lib/index.ts': `export { one } from './one.js';\nexport const two = () => import('./two');\n`,
      'lib/one.ts': `import './index.ts';\n${step('one')}`,
      'lib/two.tsx': step('two'),
      'node_modules/pkg/index.js': step('three'),
    });
    const { workflows, files } = await scanWorkspace({ root });
    expect(workflows[0]?.modules).toEqual(['lib/index.ts', 'lib/one.ts', 'lib/two.tsx']);
    expect(files['lib/index.ts']?.depth).toBe('imports');
    expect(files['lib/two.tsx']?.steps).toEqual([{ name: 'two', line: 1 }]);
  });

  it('explains every name a workflow file declares, in whatever way', async () => {
    const { files } = await scanWorkspace({ root: join(FIXTURES, 'name-undefined') });
    const names = files['workflows/declared.workflow.ts']?.freeNames?.map(({ name }) => name);
    expect(names).toEqual(['guarded', 'ambient', 'assigned']);
  });

  it('follows an import of a file that is no code', async () => {
    const root = createWorkspace({
      'workflows/a.workflow.ts': `import data from './data.json' with { type: 'json' };\n${workflow('run')}`,
      'workflows/data.json': '{}',
    });
    expect((await scanWorkspace({ root })).workflows[0]?.modules).toEqual([]);
  });

  it('finds a schema that is renamed or passed on', async () => {
    const root = createWorkspace({
      'workflows/a.workflow.ts': `const s = 1;\nexport { s as inputSchema, s as stateSchema };\n${workflow('run')}`,
      'workflows/b.workflow.ts': `export { inputSchema, a as outputSchema } from '../lib/schema';\n${workflow('run')}`,
      'workflows/c.workflow.ts': `export * from '../lib/all';\n${workflow('run')}\nrun.stateSchema = 1;`,
      'workflows/d.workflow.ts': `export type { inputSchema } from '../lib/schema';\n${workflow('run')}`,
      'lib/all.ts': `export * from './schema';\nexport * from './all';\n`,
      'lib/schema.ts': `export const { inputSchema, list: [outputSchema] } = make();\n`,
    });
    const { workflows } = await scanWorkspace({ root });
    const schemas = workflows.map((one) => [one.hasInputSchema, one.hasOutputSchema, one.hasStateSchema]);
    expect(schemas).toEqual([
      [true, false, true],
      [true, true, false],
      [true, true, true],
      [false, false, false],
    ]);
  });

  it('works in a workspace that holds nothing', async () => {
    expect(await scanWorkspace({ root: createWorkspace() })).toEqual({
      agents: [],
      workflows: [],
      agentless: [],
      unplaced: [],
      files: {},
      links: {},
      guardrails: [],
      misplacedGuardrails: [],
      connections: [],
      misplacedConnections: [],
      scorers: [],
      misplacedScorers: [],
    });
  });
});

describe('a check', () => {
  it('finds names that differ only in case, whatever the file system makes of them', async () => {
    const agents = [{ ...entry('Refund', 'deep-agents/Refund/index.ts'), texts: { skills: [] } }];
    const workflows = [
      entry('Refund', 'workflows/Refund.workflow.ts'),
      entry('other', 'workflows/other.workflow.ts'),
      entry('refund', 'workflows/refund.workflow.ts'),
    ];
    const scan: Scan = {
      agents,
      workflows,
      agentless: [],
      unplaced: [],
      files: {},
      links: {},
      guardrails: [],
      misplacedGuardrails: [],
      connections: [],
      misplacedConnections: [],
      scorers: [],
      misplacedScorers: [],
    };
    const clashes = (await checkScan(scan, createWorkspace())).filter(({ code }) => code === 'name_clash');
    expect(clashes.map(({ file, message }) => [file, message])).toEqual([
      ['workflows/Refund.workflow.ts', 'The workflows "Refund" and "refund" differ only in case. Rename one of them.'],
      ['workflows/refund.workflow.ts', 'The workflows "refund" and "Refund" differ only in case. Rename one of them.'],
    ]);
  });

  it('misses the entry of a folder that is empty, and of one with texts alone', async () => {
    const root = createWorkspace({ 'deep-agents/told/instructions.md': 'You help.' });
    mkdirSync(join(root, 'deep-agents/bare'));
    mkdirSync(join(root, 'deep-agents/_parts'));
    const problems = await checkScan(await scanWorkspace({ root }), root);
    expect(problems.map(({ code, file, message }) => [code, file, message.split('.')[0]])).toEqual([
      ['agent_entry_missing', 'deep-agents/bare/index.ts', 'The folder "deep-agents/bare" has no index'],
      ['agent_entry_missing', 'deep-agents/told/index.ts', 'The folder "deep-agents/told" has no index'],
    ]);
  });

  it.each([
    ['of a package that is imported for what it does', { 'lib/setup.ts': `import 'some-globals';\n` }],
    ['of types that are referred to', { 'lib/env.d.ts': `/// <reference types="some-globals" />\n` }],
    ['declared elsewhere', { 'types/globals.d.ts': 'declare function made(): string;\n' }],
    ['set elsewhere', { 'svc.config.ts': 'globalThis.made = () => 1;\nexport default {};\n' }],
  ])('takes a name for a global %s', async (_, files: Record<string, string>) => {
    const body = `export async function run() {\n  'use workflow';\n  return made();\n}\n`;
    const root = createWorkspace({ 'workflows/a.workflow.ts': body, 'lib/other.ts': 'export const made = 1;\n' });
    const codes = async () => (await checkScan(await scanWorkspace({ root }), root)).map(({ code }) => code);
    expect(await codes()).toEqual(['name_undefined']);
    for (const [file, text] of Object.entries(files)) writeFile(root, file, text);
    expect(await codes()).toEqual([]);
  });

  it('refuses a step in a module outside of the workspace', async () => {
    const parent = createWorkspace({
      'box/workflows/a.workflow.ts': `import '../../shared/steps';\n${workflow('run')}`,
      'shared/steps.ts': `\nexport async function charge() {\n  'use step';\n}\n`,
    });
    const root = join(parent, 'box');
    const [problem, ...others] = await checkScan(await scanWorkspace({ root }), root);
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ code: 'step_outside_workspace', file: '../shared/steps.ts', line: 2 });
    expect(problem?.frame).toContain('> 2 | export async function charge()');
    renameSync(join(parent, 'shared/steps.ts'), join(parent, 'shared/other.ts'));
    expect(await checkScan(await scanWorkspace({ root }), root)).toEqual([]);
  });
});
