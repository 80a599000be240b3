import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const SOURCE = resolve(import.meta.dirname, '../src');
const IMPORT = /^(?:import|export)\s+(?!type\s)(?:[^'";]*?from\s+)?'([^']+)'/gm;

/** What is loaded with a file before anything of it runs: names of packages, and paths of our own. */
function listLoaded(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, to = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    if (to.startsWith('.')) listLoaded(resolve(dirname(file), to), seen);
    else if (!to.startsWith('node:')) seen.add(to);
  }
  return seen;
}

function listLibraries(loaded: Iterable<string>): string[] {
  return [...loaded].filter((one) => !one.startsWith('/')).sort();
}

it.each([
  ['main.ts', []],
  ['help.ts', ['citty', 'string-width']],
])('%s loads no library but those that read arguments and measure text: %j', (file, libraries) => {
  const loaded = [...listLoaded(join(SOURCE, file))];
  expect(listLibraries(loaded)).toEqual(libraries);
  expect(loaded.filter((one) => /src\/(?:commands|dev|package|account)\//.test(one))).toEqual([]);
});

it('a verb of an operation loads the registry when it runs, and not before', () => {
  expect(listLibraries(listLoaded(join(SOURCE, 'operations/project.ts')))).toEqual(['citty', 'string-width']);
});

it.each(['ts-morph', 'consola/core', 'yocto-spinner'])('%s is never loaded with the command itself', (library) => {
  const entries = [
    'main.ts',
    'help.ts',
    'verb.ts',
    'tree.ts',
    'operations/project.ts',
    'commands/check.ts',
    'commands/dev.ts',
  ];
  for (const file of entries) expect(listLibraries(listLoaded(join(SOURCE, file)))).not.toContain(library);
});

it('ts-morph is imported where types are asked for, and nowhere else', () => {
  const sources = ['../src', '../../compiler/src', '../../create/src'].map((path) =>
    resolve(import.meta.dirname, path),
  );
  const files = sources.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  const importing = files.filter(
    (file) =>
      file.endsWith('.ts') && /^import (?!type).*'ts-morph'|import\('ts-morph'\);/m.test(readFileSync(file, 'utf8')),
  );
  expect(importing.map((file) => file.split('/src/')[1])).toEqual(['deep/project.ts']);
});
