import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FLOORS } from './_floors.ts';
import { findRings, listImports } from './_imports.ts';
import type { Import } from './_imports.ts';

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
    ['client', []],
    ['dev-s3', []],
    // Its client, of which the types of a workspace are too, and for the storage of a test box, which it is bundled for.
    ['runtime', ['@svc/client', '@svc/dev-s3']],
    ['create', []],
    // Bundled, without the rest of a box: HTTP, stores, sealing, signatures.
    ['control-plane', ['runtime']],
    // The client, and who may what.
    ['dashboard', ['@svc/runtime/client', 'runtime/src/auth/permissions.ts']],
    ['compiler', ['@svc/runtime/host']],
    [
      'cli',
      [
        '@svc/runtime',
        '@svc/runtime/client',
        '@svc/runtime/host',
        '@svc/runtime/internal',
        '@svc/compiler',
        '@svc/control-plane',
        '@svc/control-plane/dashboard',
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

  test('a box takes the S3 server to be tested alone, and of its client types and one sentence', () => {
    const taken = ours(listImports('runtime/src'));
    expect(format(taken.filter(({ to }) => to !== '@svc/client'))).toEqual([
      'runtime/src/testing/storage.ts -> @svc/dev-s3',
    ]);
    expect(taken.filter(({ to, isType }) => to === '@svc/client' && !isType).map(({ from }) => from)).toEqual([
      'runtime/src/client.ts',
      'runtime/src/surface/catalog.ts',
    ]);
  });

  test('the compiler takes types alone from the runtime', () => {
    const wrong = ours(listImports('compiler/src')).filter(({ isType }) => !isType);
    expect(format(wrong)).toEqual([]);
  });
});

describe('the floors of the runtime', () => {
  const all = listImports('runtime/src').filter(({ to }) => to.startsWith('runtime/src/'));

  test('each folder, and each file beside them, stands on one of them', () => {
    const places = new Set(all.flatMap(({ from, to }) => [placeOf(from), placeOf(to)]));
    expect([...places].toSorted()).toStrictEqual(FLOORS.toSorted());
  });

  test('each folder is on the map', () => {
    const map = readFileSync(join(import.meta.dirname, '../../../CONTRIBUTING.md'), 'utf8');
    const names = new Set(map.match(/[\w-]+\/(?=[\s:,]|$)/gm));
    expect(FLOORS.filter((place) => place.endsWith('/') && !names.has(place))).toEqual([]);
  });

  test('a file imports what is below it, types too', () => {
    const wrong = all.filter(({ from, to }) => FLOORS.indexOf(placeOf(from)) < FLOORS.indexOf(placeOf(to)));
    expect(format(wrong)).toEqual([]);
  });

  test('the engine knows no HTTP', () => {
    const wrong = listImports('runtime/src/engine').filter(({ to }) => to === 'h3' || to === 'srvx');
    expect(format(wrong)).toEqual([]);
  });

  test('only what builds a box knows which stores there are', () => {
    const stores = /^runtime\/src\/(?:engine\/stores\/(?:sqlite|postgres)|stores\/(?:pglite|pg|kv-redis|kv-memory))/;
    const builders = ['boot/', 'host.ts', 'testing/'];
    const wrong = all.filter(
      ({ from, to }) => stores.test(to) && !/\/(?:engine|stores)\//.test(from) && !builders.includes(placeOf(from)),
    );
    expect(format(wrong)).toEqual([]);
  });
});

test.each(['client', 'runtime', 'compiler', 'cli', 'create', 'dev-s3'])(
  'no files of %s import each other in a ring',
  (name) => {
    expect(findRings(listImports(`${name}/src`)).map((ring) => ring.join(' -> '))).toEqual([]);
  },
);

/** The folder in `runtime/src`, or the file beside them. */
function placeOf(path: string): string {
  const [, , place = '', ...rest] = path.split('/');
  return rest.length > 0 ? `${place}/` : place;
}
