import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkWorkspace } from '../src/check/check.ts';
import { createWorkspace, PACKAGE } from './_setup.ts';

const BODY = `export async function run() {\n  'use workflow';\n}\n`;

/** What is said of a workspace with packages whose one workflow begins with this. */
async function check(imports: string, files: Record<string, string> = {}): Promise<string[]> {
  const root = createWorkspace({ 'workflows/run.workflow.ts': `${imports}\n${BODY}`, ...files });
  symlinkSync(join(PACKAGE, 'node_modules'), join(root, 'node_modules'));
  const { problems } = await checkWorkspace({ root, imports: true });
  return problems.map(({ code, message, file, line, column }) => `${file}:${line}:${column} ${code} ${message}`);
}

describe('a check of the imports', () => {
  it('names a file that is not there, with the place of its name', async () => {
    expect(await check(`import { help } from '../lib/help.ts';`)).toEqual([
      'workflows/run.workflow.ts:1:23 module_not_found The module "../lib/help.ts" cannot be found. Correct the path, or write the file.',
    ]);
  });

  it('names a package that is not installed, also in a module that is imported', async () => {
    const lib = { 'lib/slug.ts': `import { z } from 'zod';\nexport { slug } from '@acme/slug/fast';\n` };
    expect(await check(`import { slug } from '../lib/slug.ts';`, lib)).toEqual([
      'lib/slug.ts:2:23 module_not_found The module "@acme/slug/fast" cannot be found. Install the package, or correct its name.',
    ]);
  });

  it.each([
    [
      'a file by any of its names',
      `import '../lib/a.ts';\nimport '../lib/a.js';\nimport '../lib/a';\nimport '../lib';`,
    ],
    ['what is no module', `import data from '../lib/data.json';\nimport text from '../lib/data.json?raw';`],
    ['the runtime, its other names and what Node has', `import '@svc/runtime';\nimport 'workflow';\nimport 'fs';`],
    ['types', `import type { A } from './gone.ts';\nimport { type B } from 'gone';\nexport type { C } from 'gone';`],
    ['comments', `// import './gone.ts';\n/* from 'gone' */`],
    ['what may be caught', `export const load = () => import('./gone.ts').catch(() => undefined);`],
    ['what the project may send elsewhere', `import '#lib/a';\nimport '@/a';\nimport 'shop/lib/a';`],
  ])('says nothing of %s', async (_, imports) => {
    const files = { 'lib/a.ts': '', 'lib/index.ts': '', 'lib/data.json': '{}', 'package.json': '{ "name": "shop" }' };
    expect(await check(imports, files)).toEqual([]);
  });

  it('leaves packages to the load where tsconfig.json maps names', async () => {
    const files = { 'tsconfig.json': '{ "compilerOptions": { "paths": { "lib/*": ["./lib/*"] } } }' };
    expect(await check(`import 'lib/a';`, files)).toEqual([]);
  });
});
