import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const packages = resolve(import.meta.dirname, '../..');

interface Import {
  /** Relative to `packages/`. */
  from: string;
  /** A path relative to `packages/`, or the name of a package. */
  to: string;
  isType: boolean;
}

const IMPORT = /^(?:import|export)\s+(type\s)?[^'";]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/gm;

function listImports(folder: string): Import[] {
  const files = readdirSync(join(packages, folder), { recursive: true, withFileTypes: true });
  return files
    .filter(
      (file) =>
        file.isFile() && file.name.endsWith('.ts') && !/\.test\.ts$|^_|contract\.ts$|^records\.ts$/.test(file.name),
    )
    .flatMap((file) => readImports(join(file.parentPath, file.name)));
}

function readImports(path: string): Import[] {
  const from = relative(packages, path);
  return [...readFileSync(path, 'utf8').matchAll(IMPORT)].map((match) => {
    const specifier = match[2] ?? match[3] ?? '';
    const to = specifier.startsWith('.') ? relative(packages, resolve(dirname(path), specifier)) : specifier;
    return { from, to, isType: match[1] !== undefined };
  });
}

/** By the name of a package, or by the path to its files. */
const ours = (imports: Import[]) =>
  imports.filter(
    ({ from, to }) =>
      to.startsWith('@svc/') || to === 'create-svc' || (/^\w+\/src\//.test(to) && packageOf(to) !== packageOf(from)),
  );
const packageOf = (path: string) => path.split('/')[0] ?? '';
const format = (imports: Import[]) => imports.map(({ from, to }) => `${from} -> ${to}`);

describe('the arrows between packages', () => {
  test.each([
    ['dev-s3', []],
    // For the storage of a test box, which it is bundled for.
    ['runtime', ['@svc/dev-s3']],
    ['create', []],
    ['compiler', ['@svc/runtime/host']],
    [
      'cli',
      [
        '@svc/runtime',
        '@svc/runtime/client',
        '@svc/runtime/host',
        '@svc/runtime/internal',
        '@svc/compiler',
        '@svc/dev-s3',
        'create',
        // Bundled, without the rest of the compiler: every command loads it.
        'compiler/src/edit-distance.ts',
      ],
    ],
  ])('%s imports of ours only what the map allows', (name, allowed) => {
    const wrong = ours(listImports(`${name}/src`)).filter(
      ({ to }) => !allowed.includes(to) && !allowed.includes(packageOf(to)),
    );
    expect(format(wrong)).toEqual([]);
  });

  test('a box takes nothing of ours, but to be tested', () => {
    expect(format(ours(listImports('runtime/src')))).toEqual(['runtime/src/testing/storage.ts -> @svc/dev-s3']);
  });

  test('the compiler takes types alone from the runtime', () => {
    const wrong = ours(listImports('compiler/src')).filter(({ isType }) => !isType);
    expect(format(wrong)).toEqual([]);
  });
});

describe('the arrows inside the runtime', () => {
  const all = listImports('runtime/src');
  const inside = (folder: string) => all.filter(({ from }) => from.startsWith(`runtime/src/${folder}/`));

  test('the engine imports no room and no HTTP', () => {
    const allowed = /^runtime\/src\/(?:engine\/|log\.ts|errors\.ts|stores\/(?:sql|client|kv)\.ts)/;
    const wrong = inside('engine').filter(({ to }) => to.startsWith('runtime/') && !allowed.test(to));
    expect(format(wrong)).toEqual([]);
    expect(format(inside('engine').filter(({ to }) => to === 'h3'))).toEqual([]);
  });

  test('only the box wires stores to rooms', () => {
    const rooms = ['agents', 'gate', 'health', 'operations', 'runs', 'wires', 'workflows'];
    const wrong = rooms
      .flatMap(inside)
      .filter(({ to, isType }) => !isType && /^runtime\/src\/(?:stores|engine\/stores)\//.test(to));
    expect(format(wrong).filter((arrow) => !arrow.endsWith('stores/package-file.ts'))).toEqual([]);
  });

  test('no room imports the box', () => {
    const allowed = ['runtime/src/host.ts', 'runtime/src/boot/boot.ts', 'runtime/src/testing/life.ts'];
    const wrong = all.filter(({ from, to }) => to === 'runtime/src/box.ts' && !allowed.includes(from));
    expect(format(wrong)).toEqual([]);
  });
});
