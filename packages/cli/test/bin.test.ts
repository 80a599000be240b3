import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { closedAddress, makeProject } from './_setup.ts';

const BIN = fileURLToPath(new URL('../bin.mjs', import.meta.url));
const CREATE_BIN = fileURLToPath(new URL('../../create/bin.mjs', import.meta.url));
const CREATE_BUILT = existsSync(fileURLToPath(new URL('../../create/dist/main.mjs', import.meta.url)));
const BUILT = existsSync(fileURLToPath(new URL('../dist/main.mjs', import.meta.url)));
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

interface Spawned {
  code: number;
  stdout: string;
  stderr: string;
}

interface SpawnOptions {
  /** Code that runs first, to pretend another platform. */
  before?: string;
  env?: Record<string, string>;
  cwd?: string;
  /** Default: that of svc. */
  bin?: string;
}

function runBin(argv: string[], { before = '', env = {}, cwd, bin = BIN }: SpawnOptions = {}): Promise<Spawned> {
  const preload = before ? ['--import', `data:text/javascript,${encodeURIComponent(before)}`] : [];
  return new Promise((done) => {
    const child = execFile(process.execPath, [...preload, bin, ...argv], { env, cwd }, (_, stdout, stderr) =>
      done({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const OLD_NODE = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.17.0' } })`;
const WINDOWS = `Object.defineProperty(process, 'platform', { value: 'win32' })`;

describe('bin.mjs', () => {
  it.each(['--version', '-v'])('%s prints the version', async (flag) => {
    expect(await runBin([flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('runs in Git Bash', async () => {
    expect(await runBin(['-v'], { before: WINDOWS, env: { MSYSTEM: 'MINGW64' } })).toMatchObject({ code: 0 });
  });

  it.skipIf(!BUILT)('runs the built command line and ends with its exit code', async () => {
    const cwd = await makeProject(await closedAddress());
    const result = await runBin(['runs', 'list', '--json'], { cwd });
    expect(result.code).toBe(3);
    expect(JSON.parse(result.stdout)).toMatchObject({ schema_version: 1, error: { code: 'dev_not_running' } });
    expect(await runBin(['dev', '--port', 'x'], { cwd })).toMatchObject({ code: 1, stdout: '' });
    expect(await runBin(['runs', 'get', '--help'], { cwd })).toMatchObject({ code: 0, stderr: '' });
  });
});

describe.each([
  ['svc', BIN, ['runs', 'list']],
  ['npm create svc', CREATE_BIN, ['shop']],
])('%s refuses, with and without --json, before it loads anything', (_, bin, argv) => {
  it.each([
    ['an older Node', OLD_NODE, 'svc needs Node 20.18 or later; this is Node 20.17.0.'],
    [
      'a native Windows shell',
      WINDOWS,
      'svc does not run in a native Windows shell. It runs on macOS, on Linux, and on Windows in WSL2 or Git Bash.',
    ],
  ])('%s', async (__, before, message) => {
    expect(await runBin(argv, { bin, before })).toEqual({ code: 1, stdout: '', stderr: `${message}\n` });
    const { code, stdout, stderr } = await runBin([...argv, '--json'], { bin, before });
    expect([code, stderr]).toEqual([1, `${message}\n`]);
    expect(JSON.parse(stdout)).toEqual({
      schema_version: 1,
      error: { code: 'unsupported_platform', message, suggestion: expect.stringMatching(/\w/), details: {} },
    });
  });
});

it.skipIf(!CREATE_BUILT)('npm create svc runs in Git Bash', async () => {
  const options = { bin: CREATE_BIN, before: WINDOWS, env: { MSYSTEM: 'MINGW64' } };
  expect(await runBin(['--help'], options)).toMatchObject({ code: 0, stderr: '' });
});
