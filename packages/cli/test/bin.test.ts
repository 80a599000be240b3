import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { closedAddress, makeProject } from './_setup.ts';

const BIN = fileURLToPath(new URL('../bin.mjs', import.meta.url));
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
}

function runBin(argv: string[], { before = '', env = {}, cwd }: SpawnOptions = {}): Promise<Spawned> {
  const preload = before ? ['--import', `data:text/javascript,${encodeURIComponent(before)}`] : [];
  return new Promise((done) => {
    const child = execFile(process.execPath, [...preload, BIN, ...argv], { env, cwd }, (_, stdout, stderr) =>
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

  it('names the Node it needs on an older one', async () => {
    const reason = 'svc needs Node 20.18 or later; this is Node 20.17.0.\n';
    expect(await runBin(['runs', 'list'], { before: OLD_NODE })).toEqual({ code: 1, stdout: '', stderr: reason });
  });

  it('refuses a native Windows shell', async () => {
    const refused = await runBin(['runs', 'list', '--json'], { before: WINDOWS });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^.*WSL2 or Git Bash.*\n$/) });
    expect(JSON.parse(refused.stdout)).toMatchObject({
      schema_version: 1,
      error: { code: 'unsupported_platform', suggestion: expect.any(String) },
    });
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
