import { expect, it } from 'vitest';
import { listFaults } from '../../../scripts/check-lockfile.mjs';
import { readText } from './_docs.ts';

const HASH = `sha512-${'A'.repeat(86)}==`;
const WORKSPACE = 'allowBuilds: { better-sqlite3: false }';

const lockfile = (resolution: string, specifier = '1.2.3'): string => `
importers:
  packages/shop:
    dependencies:
      left: { specifier: ${specifier}, version: 1.2.3 }
packages:
  left@1.2.3:
    resolution: ${resolution}
`;

it('the packages of this repository come from a registry as they were looked at, and run nothing when installed', () => {
  expect(listFaults(readText('pnpm-lock.yaml'), readText('pnpm-workspace.yaml'))).toEqual([]);
});

it.each([
  [lockfile(`{ integrity: ${HASH} }`), WORKSPACE, []],
  [lockfile('{ integrity: sha1-abc= }'), WORKSPACE, ['left@1.2.3 has no SHA-512.']],
  [
    lockfile('{ tarball: "https://example.com/left.tgz" }'),
    WORKSPACE,
    ['left@1.2.3 comes from elsewhere: tarball.', 'left@1.2.3 has no SHA-512.'],
  ],
  [
    lockfile(`{ integrity: ${HASH}, repo: "https://example.com/left.git", commit: abc }`),
    WORKSPACE,
    ['left@1.2.3 comes from elsewhere: repo, commit.'],
  ],
  ...['^1.2.3', '1.2.3 || 2.0.0', 'latest', 'github:some/left', '"*"'].map((specifier) => [
    lockfile(`{ integrity: ${HASH} }`, specifier),
    WORKSPACE,
    [`packages/shop asks for left ${specifier.replaceAll('"', '')}: name one version.`],
  ]),
  [
    lockfile(`{ integrity: ${HASH} }`),
    'allowBuilds: { left: true }',
    ['pnpm-workspace.yaml lets the install script of left run.'],
  ],
] as [string, string, string[]][])('what is not so is named, %#', (lock, workspace, faults) => {
  expect(listFaults(lock, workspace)).toEqual(faults);
});
