import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../../../playground/model-server.mjs';
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
    const typed = { 'Folder to make': 'shop\r', 'Begin with': 'agent\r', 'Model provider': '\r' };
    const { code, shown } = await create(['--no-install'], { cwd, typed });
    expect({ code, shown }).toMatchObject({ code: 0, shown: expect.stringMatching(/Created shop in /) });
    expect(JSON.parse(readFileSync(join(cwd, 'shop/svc.json'), 'utf8'))).toEqual({ slug: 'shop' });
    expect(readdirSync(join(cwd, 'shop/deep-agents'))).toEqual(['assistant']);
  });

  it('takes Enter for what it offers', async () => {
    const cwd = makeFolder();
    const typed = { 'Folder to make (my-workspace)': '\r', '(Enter: agent)': '\r', '(Enter: later)': '\r' };
    expect(await create(['--no-install'], { cwd, typed })).toMatchObject({ code: 0 });
    expect(readdirSync(join(cwd, 'my-workspace/deep-agents'))).toEqual(['assistant']);
  });

  it('asks nothing that the command line says', async () => {
    const cwd = makeFolder();
    expect(await create(['shop', '--yes', '--no-install'], { cwd })).toMatchObject({ code: 0 });
    const typed = { 'Folder to make': 'stall\r', 'Model provider': '\r' };
    expect(await create(['--with', 'workflow', '--no-install'], { cwd, typed })).toMatchObject({ code: 0 });
    expect(readdirSync(cwd)).toEqual(['shop', 'stall']);
  });

  it('asks for template, provider, key and model of a folder that is named, and shows nothing of the key', async () => {
    const cwd = makeFolder();
    const model = await startModelServer();
    onTestFinished(() => model.close());
    const typed = {
      'Begin with': '\r',
      'Model provider': `${model.url}\r`,
      'not shown': 'sk-geheim\r',
      'Its model': '\r',
    };
    const { code, shown } = await create(['shop', '--no-install'], { cwd, typed });
    expect({ code, shown }).toMatchObject({ code: 0, shown: expect.stringContaining('Its model, by name') });
    expect(shown).not.toContain('geheim');
    expect(shown).toMatch(
      /Next:\s+cd shop\s+npm install\s+npx svc dev\s.*of that folder:\s+npx svc chat assistant\s*$/s,
    );
    expect(readFileSync(join(cwd, 'shop/.env'), 'utf8')).toBe(
      `MODEL_PROVIDER_BASE_URL=${model.url}\nMODEL_PROVIDER_API_KEY=sk-geheim\n`,
    );
    expect(readFileSync(join(cwd, 'shop/svc.config.ts'), 'utf8')).toContain("model: 'playground/scripted'");
  });

  it('says that a folder is taken before it asks anything else', async () => {
    const cwd = makeFolder();
    mkdirSync(join(cwd, 'shop'));
    writeFileSync(join(cwd, 'shop/notes.txt'), '');
    const { code, shown } = await create(['shop'], { cwd });
    expect({ code, shown }).toMatchObject({
      code: 1,
      shown: expect.stringContaining('is not empty: it has notes.txt'),
    });
  });

  it('asks again where there is no such template, and says what each is', async () => {
    const cwd = makeFolder();
    const typed = {
      'Folder to make': 'shop\r',
      'Begin with': 'agnet\r',
      'There is no template "agnet". Use one of: agent, empty, workflow, workflow-agent.': 'workflow\r',
      'Model provider': '\r',
    };
    const { code, shown } = await create(['--no-install'], { cwd, typed });
    expect([code, readdirSync(join(cwd, 'shop/workflows'))]).toEqual([0, ['welcome.workflow.ts']]);
    expect(shown).toContain('workflow-agent  both: an agent that starts a workflow');
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
  it.each([
    [['--template', 'agnet'], '--template does not take "agnet".'],
    [['--template', 'agent', '--with', 'agent'], '--with and --template are the same.'],
    [['--provider', ''], '--provider needs a value.'],
    [['--provider', 'x'], '"x" is not an http or https address.'],
    [['--provider', 'https://a:b@x/v1'], 'The provider address carries credentials.'],
    [['--model', ' '], '--model needs a value.'],
    [['--key-stdin'], '--key-stdin brings the key of a provider, and --provider names none.'],
    [
      ['--starter', 'agent'],
      'The flag "--starter" is gone: --with chooses what a workspace begins with, "svc add" adds to it.',
    ],
  ])('%j is refused before anything is made', (argv, message) => {
    const cwd = makeFolder();
    const ended = spawnSync(process.execPath, [BIN, 'shop', ...argv, '--json'], { cwd, encoding: 'utf8' });
    expect([ended.status, ended.stderr, readdirSync(cwd)]).toEqual([1, `${message}\n`, []]);
  });

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
    expect(flags.template).toMatchObject({ enum: ['empty', 'agent', 'workflow', 'workflow-agent'], default: 'empty' });
    const text = run('--help').stdout;
    for (const name of Object.keys(flags)) expect(text).toContain(`--${name}`);
    for (const name of ['-h', '-v', '--template <template>', '--no-install']) expect(text).toContain(name);
  });
});
