import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkScan, checkWorkspace } from '../src/check/check.ts';
import { createScanner, scanWorkspace } from '../src/scan.ts';
import { createWorkspace, writeFile } from './_setup.ts';

const body = (statement: string, imports = '') =>
  `${imports}\nexport async function run(x: any) {\n  'use workflow';\n  ${statement}\n}\n`;

/** The codes of one workflow whose body is this, with these files beside it. */
async function codesOf(source: string, files: Record<string, string> = {}): Promise<string[]> {
  const root = createWorkspace({ 'workflows/a.workflow.ts': source, ...files });
  const { problems } = await checkWorkspace({ root });
  return problems.map(({ code }) => code);
}

describe('the check of a body', () => {
  it('parses a helper only when a body can get there', async () => {
    const root = createWorkspace({
      'workflows/a.workflow.ts': `${body('near(); await save();', `import { near } from '../lib/near';\nimport { far } from '../lib/far';`)}async function save() {\n  'use step';\n  far();\n}\n`,
      'lib/near.ts': `import { next } from './next';\nexport const near = () => next();\nexport const other = () => fetch('/');\n`,
      'lib/next.ts': `export function next() {}\n`,
      'lib/far.ts': `export const far = () => fetch('/');\n`,
    });
    const { files } = await scanWorkspace({ root });
    const depths = Object.entries(files).map(([file, { depth }]) => `${file} ${depth}`);
    expect(depths.sort()).toEqual([
      'lib/far.ts imports',
      'lib/near.ts full',
      'lib/next.ts full',
      'workflows/a.workflow.ts full',
    ]);
    expect(await checkScan(await scanWorkspace({ root }), root)).toEqual([]);
  });

  it('answers the same from its cache, and sees a helper change', async () => {
    const root = createWorkspace({
      'workflows/a.workflow.ts': body('await load();', `import { load } from '../lib/load';`),
      'lib/load.ts': `export const load = () => fetch('/');\n`,
    });
    const cacheFile = join(root, '.svc/cache/scan.json');
    const check = async (scanner = createScanner({ root, cacheFile })) => checkScan(await scanner.scan(), root);
    const living = createScanner({ root, cacheFile });
    const first = await check(living);
    expect(first.map(({ code, file, line }) => [code, file, line])).toEqual([
      ['workflow_not_replayable', 'workflows/a.workflow.ts', 4],
    ]);
    expect(await check()).toEqual(first);
    writeFile(root, 'lib/load.ts', `export const load = () => 'local';\n`);
    expect(await check(living)).toEqual([]);
    expect(await check()).toEqual([]);
  });

  it('gives a problem of a shared helper only to the workflow that gets there', async () => {
    const root = createWorkspace({
      'workflows/bad.workflow.ts': body('await load();', `import { load } from '../lib/load';`),
      'workflows/good.workflow.ts': body('return size(x);', `import { size } from '../lib/load';`),
      'lib/load.ts': `export const load = () => fetch('/');\nexport const size = (x: string) => x.length;\n`,
    });
    const { manifest } = await checkWorkspace({ root });
    expect(manifest.workflows.map(({ problem }) => problem?.code)).toEqual(['workflow_not_replayable', undefined]);
  });

  it('ends where helpers import each other, or what is not there', async () => {
    const files = {
      'lib/a.ts': `export * from './b';\nimport { b } from './b';\nexport const a = () => b();\n`,
      'lib/b.ts': `export * from './a';\nimport { a } from './a';\nexport const b = () => a();\n`,
      'lib/c.ts': `export { c } from './d';\n`,
      'lib/d.ts': `export { c } from './c';\n`,
    };
    const imports = `import { a, missing } from '../lib/a';\nimport { c } from '../lib/c';\nimport { no } from './no';`;
    expect(await codesOf(body('a(); missing(); c(); no();', imports), files)).toEqual([]);
  });

  it.each([
    ['a method of something unknown', 'x.fetch(); x.readFileSync("/");'],
    ['the answer of a call', 'x().get("/");'],
    ['an element by a computed name', 'tools[x]();', 'const tools = { load: () => fetch("/") };'],
    [
      'a class that is only compared with',
      'x instanceof Client; Object.is(x, Client);',
      'class Client { t = fetch("/"); }',
    ],
    ['a type', 'const r: typeof fetch = x; return r as unknown as typeof setTimeout;'],
    ['a variable that is assigned elsewhere', 'load();', 'let load = fetch;\nload = async () => new Response();'],
    ['a name of the prototype', 'toString(); x.constructor(); hasOwnProperty("a");'],
  ])('says nothing about %s', async (_, statement, before = '') => {
    expect(await codesOf(body(statement, before))).toEqual([]);
  });

  it.each([
    [
      'a tagged template of a client',
      'await sql`select 1`;',
      `import postgres from 'postgres';\nconst sql = postgres();`,
    ],
    ['a method that calls its neighbour', 'new A().one();', 'class A { one() { this.two(); } two() { fetch("/"); } }'],
    ['a constructor that is inherited', 'new B();', 'class A { constructor() { fetch("/"); } }\nclass B extends A {}'],
    ['a function by call()', 'load.call(null);', 'function load() { fetch("/"); }'],
    ['an optional call', 'api?.load?.();', 'const api = { load: () => fetch("/") };'],
    ['a default of a parameter', 'load();', 'function load(x = fetch("/")) {}'],
    ['a reassigned name of a global', 'get("/");', 'const get = globalThis.fetch;'],
  ])('finds %s', async (_, statement, before) => {
    expect(await codesOf(body(statement, before))).toEqual(['workflow_not_replayable']);
  });
});
