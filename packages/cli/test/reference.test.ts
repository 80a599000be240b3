import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as compiler from '@svc/compiler';
import * as runtime from '@svc/runtime/host';
import { describe, expect, it, onTestFinished } from 'vitest';
import { renderReference } from '../../../scripts/_reference.mjs';
import * as controlPlane from '../../control-plane/src/index.ts';
import * as cli from '../src/index.ts';
import { readText, REPOSITORY } from './_docs.ts';

const FOLDER = 'docs/reference';
/** What no table of the code says. */
const BY_HAND = ['security.md'];
const BUILT = existsSync(join(REPOSITORY, 'packages/cli/dist/index.mjs'));

function makeReference(...args: string[]) {
  const script = join(REPOSITORY, 'scripts/make-reference.mjs');
  return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
}

/** The text of every source file of the packages, tests left out. */
function readSources(): string {
  const packages = join(REPOSITORY, 'packages');
  return readdirSync(packages, { recursive: true, encoding: 'utf8' })
    .filter((path) => /^[^/]+\/src\/.*(?<!\.test)\.ts$/.test(path))
    .map((path) => readFileSync(join(packages, path), 'utf8'))
    .join('\n');
}

describe('docs/reference', () => {
  it('says what the code says; if not, run `pnpm reference`', async () => {
    const pages = await renderReference({ runtime, cli, compiler, controlPlane });
    const kept = readdirSync(join(REPOSITORY, FOLDER))
      .filter((file) => !BY_HAND.includes(file))
      .map((file) => [file, readText(`${FOLDER}/${file}`)]);
    expect(Object.fromEntries(kept)).toEqual(pages);
  });

  it.skipIf(!BUILT)('is checked by a command that names the file that is stale', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-reference-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(makeReference(folder)).toMatchObject({ status: 0 });
    expect(makeReference('--check', folder)).toMatchObject({ status: 0, stderr: '' });
    writeFileSync(join(folder, 'errors.md'), 'changed\n');
    const checked = makeReference('--check', folder);
    expect(checked.status).toBe(1);
    expect(checked.stderr).toContain('errors.md is stale.');
    expect(checked.stderr).not.toContain('routes.md');
    expect(readFileSync(join(folder, 'errors.md'), 'utf8')).toBe('changed\n');
  });

  it('has the code of every error the command line throws', () => {
    const thrown = Array.from(readSources().matchAll(/new CliError\(\s*'([a-z_]+)'/g), ([, code = '']) => code);
    expect(thrown.length).toBeGreaterThan(10);
    expect(thrown.filter((code) => !Object.hasOwn(cli.CLI_CODES, code))).toEqual([]);
  });

  it('has every environment variable the packages read by name', () => {
    const read = Array.from(readSources().matchAll(/\benv\.((?:SVC|MODEL)_[A-Z_]+)/g), ([, name = '']) => name);
    const known = runtime.listVariables().map(({ name }): string => name);
    expect(read).toContain('SVC_DEV_PORT_OFFSET');
    expect(read.filter((name) => !known.includes(name))).toEqual([]);
  });
});
