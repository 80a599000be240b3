import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { buildWorkspace } from '../src/build/build.ts';
import { createHasher } from '../src/build/closure.ts';
import { installRuntime, startHost } from './_runtime.ts';
import { copyFixture, createWorkspace, writeFile } from './_setup.ts';

const RUNTIME = { contract: 15, name: '@svc/runtime', version: '0.1.0' };

const FILES = {
  'deep-agents/echo/index.ts': `import { defineDeepAgent } from '@svc/runtime';
import { word } from '../../lib/word.ts';
export default defineDeepAgent({ name: 'echo', instructions: word });
`,
  'lib/word.ts': `export const word = 'word-1';\n`,
  'lib/late.ts': `export const late = 'late-1';\n`,
  'lib/steps.ts': `import { word } from './word.ts';
export async function work(name: string) {
  'use step';
  return \`\${word} \${name}\`;
}
`,
  'svc.config.ts': `export default { model: 'vendor/model' };\n`,
  'workflows/greet.workflow.ts': `import { work } from '../lib/steps.ts';
export async function greet(input: { name: string }) {
  'use workflow';
  const { late } = await import('../lib/late.ts');
  return [await work(input.name), late];
}
`,
};

function build(root: string, out = join(root, 'dist/workspace')) {
  return buildWorkspace({ root, outDir: out, slug: 'fixture', runtime: RUNTIME });
}

/** Every file of a folder with its text. */
function readAll(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(folder.length + 1), readFileSync(path, 'utf8')];
    }),
  );
}

describe('a build', () => {
  it('holds every agent, workflow and the settings, and runs on the runtime of its process', async () => {
    const runtime = installRuntime();
    const root = createWorkspace(FILES);
    const { manifest, files, failed } = await build(root);
    expect(failed).toEqual([]);
    const out = join(root, 'dist/workspace');
    expect(files).toEqual(Object.keys(readAll(out)).sort());
    expect(JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'))).toEqual(manifest);
    expect(manifest).toMatchObject({ version: 1, slug: 'fixture', runtime: RUNTIME, config: 'svc.config.ts' });
    expect(Object.keys(manifest.modules)).toEqual([
      'deep-agents/echo/index.ts',
      'svc.config.ts',
      'workflows/greet.workflow.ts',
    ]);
    const path = manifest.modules['workflows/greet.workflow.ts']?.path ?? '';
    expect(path).toMatch(/^workflows\/greet-.+\.mjs$/);
    const { greet } = (await import(pathToFileURL(join(out, path)).href)) as { greet(input: object): Promise<unknown> };
    expect(await greet({ name: 'Ada' })).toEqual(['word-1 Ada', 'late-1']);
    expect(runtime.calls.map(({ id }) => id)).toEqual(['lib/steps.ts#work']);
    expect([...runtime.marked.values()]).toContain('greet');
  });

  it('holds a file with several workflows once, and follows the aliases of tsconfig.json', async () => {
    const runtime = installRuntime();
    const root = createWorkspace({
      'lib/steps.ts': FILES['lib/steps.ts'],
      'lib/word.ts': FILES['lib/word.ts'],
      'tsconfig.json': `{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } } // where the steps are`,
      'workflows/many.workflow.ts': `import { work } from '@/steps';
export async function greet() {
  'use workflow';
  return await work('Ada');
}
export class Ledger {
  static async close() {
    'use workflow';
    return await work('Bob');
  }
}
`,
    });
    const { manifest, problems } = await build(root);
    expect(problems).toEqual([]);
    expect(Object.keys(manifest.modules)).toEqual(['workflows/many.workflow.ts']);
    expect(manifest.workflows.map(({ name, exportName }) => [name, exportName])).toEqual([
      ['greet', 'greet'],
      ['ledger-close', 'Ledger.close'],
    ]);
    expect(manifest.workflows[0]?.steps).toMatchObject([{ id: 'lib/steps.ts#work' }]);
    const path = manifest.modules['workflows/many.workflow.ts']?.path ?? '';
    const { Ledger } = (await import(pathToFileURL(join(root, 'dist/workspace', path)).href)) as {
      Ledger: { close(): Promise<unknown> };
    };
    expect(await Ledger.close()).toBe('word-1 Bob');
    expect(runtime.calls.map(({ id }) => id)).toEqual(['lib/steps.ts#work']);
    expect(manifest.modules['workflows/many.workflow.ts']?.hash).not.toBe('');
  });

  it('holds the schema of the dynamic configuration, and is refused where that does not compile', async () => {
    const root = createWorkspace({ 'config.schema.ts': `export default { most: {} };\n` });
    const { manifest, failed } = await build(root);
    expect(failed).toEqual([]);
    expect(manifest.configSchema).toEqual({ file: 'config.schema.ts' });
    const module = await import(
      pathToFileURL(join(root, 'dist/workspace', manifest.modules['config.schema.ts']?.path ?? '')).href
    );
    expect(module.default).toEqual({ most: {} });
    writeFile(root, 'config.schema.ts', `import './nowhere.ts';\nexport default {};\n`);
    expect((await build(root)).failed).toMatchObject([{ code: 'module_not_found', file: 'config.schema.ts' }]);
  });

  it.each([
    ['guardrails', 'guardrails/cards.guardrail.ts'],
    ['scorers', 'evals/cards.scorer.ts'],
  ] as const)('holds the %s, and is refused where one does not compile', async (kind, file) => {
    const root = createWorkspace({ [file]: `export default { check: 1 };\n` });
    const { manifest, failed } = await build(root);
    expect(failed).toEqual([]);
    expect(manifest[kind]).toEqual([{ name: 'cards', file }]);
    const path = manifest.modules[file]?.path ?? '';
    const module = await import(pathToFileURL(join(root, 'dist/workspace', path)).href);
    expect(module.default).toEqual({ check: 1 });
    writeFile(root, file, `import './nowhere.ts';\nexport default {};\n`);
    expect((await build(root)).failed).toMatchObject([{ code: 'module_not_found', file }]);
  });

  it('is the same byte by byte, twice and in another folder', async () => {
    installRuntime();
    const root = createWorkspace(FILES);
    await build(root);
    const first = readAll(join(root, 'dist/workspace'));
    await build(root);
    expect(readAll(join(root, 'dist/workspace'))).toEqual(first);
    const other = createWorkspace(FILES);
    await build(other, join(other, 'elsewhere'));
    expect(readAll(join(other, 'elsewhere'))).toEqual(first);
    expect(Object.values(first).join('\n')).not.toContain(root);
  });

  it('gives a workflow the hash it has under svc dev, before and after an import on demand', async () => {
    installRuntime();
    const root = createWorkspace(FILES);
    const { manifest } = await build(root);
    const host = await startHost(root);
    const environment = host.server.environments['box'];
    const hashOf = createHasher(environment as never, root);
    const file = 'workflows/greet.workflow.ts';
    const { greet } = await host.import<{ greet(input: object): Promise<unknown> }>(file);
    const path = join(root, file);
    expect(await hashOf(path)).toBe(manifest.modules[file]?.hash);
    await greet({ name: 'Ada' });
    expect(await hashOf(path)).toBe(manifest.modules[file]?.hash);
  });

  it.each([
    ['lib/steps.ts', true],
    ['lib/late.ts', true],
    ['workflows/greet.workflow.ts', true],
    ['svc.config.ts', false],
  ])('changes the hash of a workflow with %s: %s', async (file, changes) => {
    installRuntime();
    const root = createWorkspace(FILES);
    const hashOf = async () => (await build(root)).manifest.modules['workflows/greet.workflow.ts']?.hash;
    const before = await hashOf();
    writeFileSync(join(root, file), `${readFileSync(join(root, file), 'utf8')}export const more = 1;\n`);
    expect((await hashOf()) !== before).toBe(changes);
  });

  it('maps its code back to the sources, by their place in the workspace', async () => {
    installRuntime();
    const root = createWorkspace(FILES);
    const { manifest } = await build(root);
    const path = manifest.modules['workflows/greet.workflow.ts']?.path ?? '';
    const map = JSON.parse(readFileSync(join(root, 'dist/workspace', `${path}.map`), 'utf8')) as { sources: string[] };
    const sources = map.sources.map((source) => join('/bundle', path, '..', source));
    expect(sources).toContain('/bundle/workflows/greet.workflow.ts');
  });

  it.each([
    ['a syntax error', `export const = 1;\n`, 'syntax_error', 1],
    ['no such module', `import './nowhere.ts';\nexport const bad = 1;\n`, 'module_not_found', 1],
    ['no such package', `\nimport 'no-such-package';\nexport const bad = 1;\n`, 'module_not_found', 2],
    ['no such export', `import { nothing } from './word.ts';\nexport const bad = nothing;\n`, 'export_missing', 1],
  ])('ships a workflow degraded whose module has %s, and the rest works', async (_, text, code, line) => {
    installRuntime();
    const root = createWorkspace({
      ...FILES,
      'lib/bad.ts': text,
      'workflows/bad.workflow.ts': `import { bad } from '../lib/bad.ts';
export async function broken() {
  'use workflow';
  return bad;
}
`,
    });
    const { manifest, failed, problems } = await build(root);
    expect(failed).toEqual([]);
    expect(problems[0]).toMatchObject({ code, file: 'lib/bad.ts', line });
    const [bad, greet] = manifest.workflows;
    expect(bad).toMatchObject({ name: 'bad', problem: { code, file: 'lib/bad.ts', line } });
    expect(greet).not.toHaveProperty('problem');
    expect(Object.keys(manifest.modules)).not.toContain('workflows/bad.workflow.ts');
    expect(existsSync(join(root, 'dist/workspace', manifest.modules['workflows/greet.workflow.ts']?.path ?? ''))).toBe(
      true,
    );
  });

  it('names what a module does not export, and the module', async () => {
    installRuntime();
    const root = createWorkspace({
      ...FILES,
      'svc.config.ts': `import { wrod } from './lib/word.ts';\nexport default wrod;\n`,
    });
    const { failed } = await build(root);
    const message = '"lib/word.ts" exports no "wrod". Did you mean "word"?';
    expect(failed).toMatchObject([{ code: 'export_missing', message, file: 'svc.config.ts', line: 1, column: 10 }]);
  });

  it.each(['deep-agents/echo/index.ts', 'svc.config.ts'])('that cannot have %s is none', async (file) => {
    installRuntime();
    const root = createWorkspace({ ...FILES, [file]: 'export default {;\n' });
    const { failed } = await build(root);
    expect(failed).toMatchObject([{ code: 'syntax_error', file }]);
    expect(existsSync(join(root, 'dist'))).toBe(false);
  });

  it('replaces the bundle before it as a whole, and no other folder', async () => {
    installRuntime();
    const root = createWorkspace(FILES);
    await build(root);
    rmSync(join(root, 'workflows/greet.workflow.ts'));
    const { files } = await build(root);
    expect(Object.keys(readAll(join(root, 'dist/workspace'))).sort()).toEqual(files);
    expect(files.some((file) => file.startsWith('workflows/'))).toBe(false);
    expect(readdirSync(join(root, 'dist'))).toEqual(['workspace']);
    writeFile(root, 'precious/notes.txt', 'mine');
    await expect(build(root, join(root, 'precious'))).rejects.toThrow('something other than a bundle');
    await expect(build(root, root)).rejects.toThrow('something other than a bundle');
  });

  it('brings the packages it needs', async () => {
    installRuntime();
    const root = copyFixture('good');
    const { manifest, failed } = await build(root);
    expect(failed).toEqual([]);
    const all = readAll(join(root, 'dist/workspace'));
    const code = Object.entries(all).filter(([path]) => path.endsWith('.mjs'));
    const imports = code.flatMap(([, text]) =>
      Array.from(text.matchAll(/^import .*from ["']([^."'][^"']*)["']/gm), ([, name]) => name),
    );
    expect(imports.filter((name) => !name?.startsWith('node:'))).toEqual([]);
    expect(manifest.workflows.map(({ name }) => name)).toEqual(['arrow', 'empty', 'onboard', 'plain']);
  });
});
