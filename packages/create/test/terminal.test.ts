import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HAS_TERMINAL, runOnTerminal } from './_terminal.ts';
import type { Ran, TerminalOptions } from './_terminal.ts';

const BIN = fileURLToPath(new URL('../bin.mjs', import.meta.url));
const BUILT = existsSync(fileURLToPath(new URL('../dist/main.mjs', import.meta.url)));

function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-terminal-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function create(argv: string[], { cwd, typed = {} }: Omit<TerminalOptions, 'env'>): Promise<Ran> {
  return runOnTerminal([process.execPath, BIN, ...argv], { cwd, typed, env: { HOME: cwd } });
}

describe.skipIf(!BUILT || !HAS_TERMINAL)('npm create svc on a terminal', () => {
  it('asks for the folder and for what it begins with', async () => {
    const cwd = makeFolder();
    const typed = { 'Folder to make': 'shop\r', 'Begin with': 'agent\r' };
    const { code, shown } = await create(['--no-install'], { cwd, typed });
    expect({ code, shown }).toMatchObject({ code: 0, shown: expect.stringMatching(/Created shop in /) });
    expect(JSON.parse(readFileSync(join(cwd, 'shop/svc.json'), 'utf8'))).toEqual({ slug: 'shop' });
    expect(readdirSync(join(cwd, 'shop/deep-agents'))).toEqual(['assistant']);
  });

  it('takes Enter for what it offers', async () => {
    const cwd = makeFolder();
    const typed = { 'Folder to make (my-workspace)': '\r', '(empty)': '\r' };
    expect(await create(['--no-install'], { cwd, typed })).toMatchObject({ code: 0 });
    expect(existsSync(join(cwd, 'my-workspace/svc.json'))).toBe(true);
  });

  it('asks nothing that the command line says', async () => {
    const cwd = makeFolder();
    expect(await create(['shop', '--no-install'], { cwd })).toMatchObject({ code: 0 });
    const typed = { 'Folder to make': 'stall\r' };
    expect(await create(['--with', 'workflow', '--no-install'], { cwd, typed })).toMatchObject({ code: 0 });
    expect(readdirSync(cwd)).toEqual(['shop', 'stall']);
  });

  it('refuses a template there is none of, and makes nothing', async () => {
    const cwd = makeFolder();
    const typed = { 'Folder to make': 'shop\r', 'Begin with': 'agnet\r' };
    const { code, shown } = await create(['--no-install'], { cwd, typed });
    expect([code, readdirSync(cwd)]).toEqual([1, []]);
    expect(shown).toContain('There is no template "agnet".');
  });

  it.each([
    ['Ctrl-C', '\x03'],
    ['Ctrl-D', '\x04'],
  ])('left with %s makes nothing, exit 130', async (_, key) => {
    const cwd = makeFolder();
    const { code, shown } = await create(['--no-install'], { cwd, typed: { 'Folder to make': key } });
    expect([code, readdirSync(cwd)]).toEqual([130, []]);
    expect(shown).toMatch(/error: Interrupted before anything was made\.\s+help: Run the command again\.\s*$/);
  });

  it('asks nothing with --json', async () => {
    const cwd = makeFolder();
    const { code, shown } = await create(['--json'], { cwd });
    expect([code, readdirSync(cwd)]).toEqual([1, []]);
    expect(JSON.parse(shown.split('\n')[0] ?? '')).toMatchObject({
      error: { code: 'generic', message: 'The folder to make is not named.' },
    });
  });
});

it.skipIf(!BUILT)('npm create svc on pipes asks nothing and says what to name', () => {
  const cwd = makeFolder();
  const { status, stderr } = spawnSync(process.execPath, [BIN], { cwd, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'error: The folder to make is not named.\nhelp: For example: npm create svc my-workspace\n',
  });
});

describe.skipIf(!BUILT)('npm create svc', () => {
  const run = (...argv: string[]) =>
    spawnSync(process.execPath, [BIN, ...argv], { cwd: makeFolder(), encoding: 'utf8' });

  it.each([['--version'], ['-v']])('%s prints the version, also with --json', (flag) => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(run(flag)).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
    expect(JSON.parse(run(flag, '--json').stdout)).toEqual({ schema_version: 1, version });
  });

  it('--help names every flag, and with --json is the schema of the arguments', () => {
    const { status, stdout } = run('--help', '--json');
    const document = JSON.parse(stdout) as { schema: { properties: Record<string, { type: string }> } };
    expect(status).toBe(0);
    expect(document).toMatchObject({
      schema_version: 1,
      command: 'npm create svc',
      positionals: ['dir'],
      schema: { type: 'object', additionalProperties: false, required: [] },
    });
    const { dir, ...flags } = document.schema.properties;
    expect(dir).toMatchObject({ type: 'string' });
    expect(flags.with).toMatchObject({ enum: ['empty', 'agent', 'workflow', 'workflow-agent'], default: 'empty' });
    const text = run('--help').stdout;
    for (const name of Object.keys(flags)) expect(text).toContain(`--${name}`);
    for (const name of ['-h', '-v', '--with <template>', '--no-install']) expect(text).toContain(name);
  });
});
