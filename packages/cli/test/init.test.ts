import {
  chmodSync,
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
import { delimiter, dirname, join } from 'node:path';
import { REFUSED_WORKFLOW_NAMES } from '@svc/runtime/host';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from '../../../playground/node_modules/zod/index.js';
import { checkEntryName } from '../../create/src/names.ts';
import { runCli } from './_run.ts';
import { REPOSITORY } from './_docs.ts';
import { readDocument, readError, UTF8 } from './_setup.ts';

const Files = z.array(z.string().min(1)).min(1);
const Three = z.array(z.string().min(1)).length(3);
const Four = z.array(z.string().min(1)).min(2).max(4);

const InitPayload = z.strictObject({
  schema_version: z.literal(1),
  dir: z.string().startsWith('/'),
  name: z.string(),
  with: z.enum(['empty', 'agent', 'workflow', 'workflow-agent']),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  files: Files,
  linked: z.string().nullable(),
  packageManager: z.enum(['npm', 'pnpm', 'yarn', 'bun']),
  installationId: z.string().nullable(),
  installed: z.boolean(),
  next: Four,
});

const AddPayload = z.strictObject({
  schema_version: z.literal(1),
  kind: z.enum(['agent', 'workflow', 'workflow-agent']),
  name: z.string(),
  files: Files,
  calls: z.strictObject({ kind: z.enum(['agent', 'workflow']), name: z.string() }).nullable(),
  template: z.enum(['steps', 'approval', 'schedule', 'chat']).nullable(),
  warnings: z.array(z.string()),
  next: Three,
});

/** An empty folder, gone when the test ends. */
function makeFolder(): string {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'svc-init-')));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  return cwd;
}

function listAll(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
}

/** A folder with a workspace in it that nothing was installed into. */
async function makeWorkspace(): Promise<string> {
  const cwd = makeFolder();
  expect((await runCli(['init', 'shop', '--no-install'], { cwd })).exitCode).toBe(0);
  return join(cwd, 'shop');
}

/** An environment in which `npm` is a program of this test. */
function fakeNpm(script: string): Record<string, string> {
  const folder = makeFolder();
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, 'npm'), 0o755);
  return { ...UTF8, PATH: [folder, process.env.PATH].join(delimiter) };
}

const LONG = 'x'.repeat(300);

describe('a command line that cannot be meant gives one line, its exit code, and writes nothing', () => {
  it.each<[string[], string, string | RegExp]>([
    [['init', ''], 'generic', '<dir> is an empty text.'],
    [['init', 'a', 'b'], 'generic', '"svc init" does not take the argument "b".'],
    [['init', '--with', ''], 'generic', '--with needs a value.'],
    [['init', '--with'], 'generic', '--with needs a value.'],
    [['init', '--with', 'agnet'], 'generic', '--with does not take "agnet".'],
    [['init', '--name', ''], 'generic', '--name needs a value.'],
    [['init', '--name'], 'generic', '--name needs a value.'],
    [['init', '--name', '../x'], 'name_invalid', /^"\.\.\/x" cannot be the name of a workspace/],
    [['init', '--name', LONG], 'name_invalid', /cannot be the name of a workspace/],
    [['init', '--name', 'zod'], 'name_refused', /^A workspace cannot be named "zod"/],
    [['init', '--provider', 'x'], 'provider_url_invalid', '"x" is not an http or https address.'],
    [['init', '--key-stdin'], 'generic', /^--key-stdin brings the key of a provider/],
    [['init', '--starter'], 'flag_removed', /^The flag "--starter" is gone/],
    [['init', '--starter', 'agent'], 'flag_removed', /^The flag "--starter" is gone/],
    [['init', 'shop', '--template=agent'], 'flag_removed', /^The flag "--template" is gone/],
    [['init', '--install=maybe'], 'generic', '--install takes no value.'],
    [['init', '--no-install=x'], 'generic', '--no-install takes no value.'],
    [['init', '--force=1'], 'generic', '--force takes no value.'],
    [['init', '--yse'], 'generic', '"svc init" has no flag "--yse".'],
    [['init', LONG], 'write_failed', /the name is too long/],
    [['add'], 'generic', '"svc add" needs a verb: agent, deep-agent, workflow, workflow-agent.'],
    [['add', 'agnt', 'x'], 'generic', 'There is no verb "add agnt". Did you mean "add agent"?'],
  ])('%j: %s', async (argv, code, message) => {
    const cwd = makeFolder();
    const result = await runCli([...argv, '--json'], { cwd });
    const error = readError(result);
    expect(result.exitCode).toBe(1);
    expect(error).toMatchObject({ code, suggestion: expect.stringMatching(/\w/) });
    expect(error.message).toMatch(message);
    expect(result.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it.each<[string[], number, string, string | RegExp]>([
    [['agent'], 1, 'generic', '"svc add agent" needs <name>.'],
    [['agent', ''], 1, 'generic', '"svc add agent" needs <name>.'],
    [['agent', 'a', 'b'], 1, 'generic', '"svc add agent" does not take the argument "b".'],
    [['agent', 'My Agent'], 1, 'name_invalid', /^"My Agent" cannot be the name of an agent/],
    [['deep-agent', '../../x'], 1, 'name_invalid', /cannot be the name of an agent/],
    [['agent', LONG], 1, 'name_invalid', /cannot be the name of an agent/],
    [['agent', 'a', '--template', 'chat'], 1, 'generic', '"svc add agent" has no flag "--template".'],
    [['workflow', 'runs'], 1, 'name_refused', /^A workflow cannot be named "runs"/],
    [['workflow-agent', 'hooks'], 1, 'name_refused', /^A workflow cannot be named "hooks"/],
    [['workflow', 'a', '--calls', ''], 1, 'generic', '--calls needs a value.'],
    [['workflow', 'a', '--calls', 'nobody'], 4, 'not_found', /^--calls names "nobody"/],
    [['workflow', 'a', '--calls', '../x'], 4, 'not_found', /^--calls names "\.\.\/x"/],
    [['workflow', 'a', '--template', ''], 1, 'generic', '--template needs a value.'],
    [['workflow', 'a', '--template', 'aproval'], 1, 'generic', '--template does not take "aproval".'],
    [['workflow', 'a', '--template', 'chat', '--calls', 'b'], 1, 'generic', /^--calls and --template both say/],
    [['workflow', 'a', '--force=yes'], 1, 'generic', '--force takes no value.'],
  ])('add %j: exit %i, %s', async (argv, exitCode, code, message) => {
    const cwd = await makeWorkspace();
    const before = listAll(cwd);
    const result = await runCli(['add', ...argv, '--json'], { cwd });
    const error = readError(result);
    expect(result.exitCode).toBe(exitCode);
    expect(error).toMatchObject({ code, suggestion: expect.stringMatching(/\w/) });
    expect(error.message).toMatch(message);
    expect(result.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(listAll(cwd)).toEqual(before);
  });

  it('outside of a workspace there is nothing to add to: exit 3', async () => {
    const result = await runCli(['add', 'agent', 'support', '--json'], { cwd: makeFolder() });
    expect(result.exitCode).toBe(3);
    expect(readError(result).code).toBe('no_project');
  });

  it('a command one folder too high or too low says where the workspace is', async () => {
    const shop = await makeWorkspace();
    const above = await runCli(['dev', '--json'], { cwd: dirname(shop) });
    expect([above.exitCode, readError(above).suggestion]).toEqual([3, 'There is one in "shop": go there first.']);
    const below = await runCli(['build', '--json'], { cwd: join(shop, 'workflows') });
    expect(readError(below).suggestion).toBe(`The workspace is "${shop}": run svc build there.`);
    const nowhere = await runCli(['dev', 'package.json', '--json'], { cwd: shop });
    expect([nowhere.exitCode, readError(nowhere).code]).toEqual([3, 'no_project']);
  });

  it.each([['agent'], ['deep-agent'], ['workflow'], ['workflow-agent']])(
    'a second %s of one name is already_exists, unless --force replaces it',
    async (kind) => {
      const cwd = await makeWorkspace();
      expect((await runCli(['add', kind, 'twice'], { cwd })).exitCode).toBe(0);
      const again = await runCli(['add', kind, 'twice', '--json'], { cwd });
      expect([again.exitCode, readError(again).code]).toEqual([1, 'already_exists']);
      expect((await runCli(['add', kind, 'twice', '--force'], { cwd })).exitCode).toBe(0);
    },
  );
});

describe('the --json document', () => {
  it.each([
    ['empty', 'npx svc add agent support'],
    ['agent', 'npx svc chat assistant'],
    ['workflow', `npx svc workflows start welcome --input '{"name":"Ada"}'`],
    ['workflow-agent', 'npx svc chat guide'],
  ])('of svc init --with %s', async (template, last) => {
    const cwd = makeFolder();
    const result = await runCli(['init', 'shop', '--with', template, '--no-install', '--json'], { cwd, tty: true });
    const document = InitPayload.parse(readDocument(result));
    expect(document).toMatchObject({ dir: join(cwd, 'shop'), name: 'shop', with: template, installed: false });
    expect(document.next).toEqual(['cd shop', 'npm install', 'npx svc dev', last]);
    expect(`${join(document.linked ?? '', '/')}`).toBe(REPOSITORY);
    for (const file of document.files) expect(existsSync(join(cwd, 'shop', file))).toBe(true);
    expect(result.stderr).toBe('');
  });

  it.each([
    [['agent', 'desk']],
    [['deep-agent', 'desk']],
    [['workflow', 'desk']],
    [['workflow', 'desk', '--template', 'approval']],
    [['workflow-agent', 'desk']],
    [['agent', 'my-codex']],
  ])('of svc add %j', async (argv) => {
    const cwd = await makeWorkspace();
    const result = await runCli(['add', ...argv, '--json'], { cwd: join(cwd, 'workflows') });
    const document = AddPayload.parse(readDocument(result));
    expect(document.name).toBe(argv[1]);
    expect(document.warnings).toHaveLength(argv[1] === 'my-codex' ? 1 : 0);
    for (const file of document.files) expect(existsSync(join(cwd, file))).toBe(true);
    expect(result.stderr).toBe('');
  });

  it('names what a workflow calls', async () => {
    const cwd = await makeWorkspace();
    await runCli(['add', 'agent', 'desk'], { cwd });
    const result = await runCli(['add', 'workflow', 'ask', '--calls', 'desk', '--json'], { cwd });
    expect(AddPayload.parse(readDocument(result))).toMatchObject({
      calls: { kind: 'agent', name: 'desk' },
      template: null,
    });
  });
});

it.each(['AGENTS.md', 'README.md'])('%s of a workspace names verbs, flags and scripts there are', async (page) => {
  const cwd = await makeWorkspace();
  const text = readFileSync(join(cwd, page), 'utf8');
  const named = Array.from(text.matchAll(/`npx svc ([a-z][^`]*)`/g), ([, command = '']) => command);
  expect(named.length).toBeGreaterThan(2);
  for (const command of named.filter((one) => !one.startsWith('<'))) {
    const words = command.split(/ (?=[-<])/)[0]?.split(' ') ?? [];
    const help = await runCli([...words, '--help', '--json'], { cwd, env: UTF8 });
    expect([command, help.exitCode]).toEqual([command, 0]);
    const { properties } = readDocument(help).schema as { properties: object };
    for (const [, flag = ''] of command.matchAll(/ --([a-z-]+)/g)) expect(properties).toHaveProperty(flag);
  }
  const { scripts } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as { scripts: object };
  for (const [, script = ''] of text.matchAll(/npm run (\w+)/g)) expect(scripts).toHaveProperty(script);
});

it.each(['empty', 'agent', 'workflow', 'workflow-agent'])(
  'a workspace of the template %s asks for the Node its image has',
  async (template) => {
    const cwd = makeFolder();
    await runCli(['init', 'shop', '--with', template, '--no-install', '--json'], { cwd });
    const { engines } = JSON.parse(readFileSync(join(cwd, 'shop/package.json'), 'utf8')) as { engines: object };
    const image = readFileSync(join(REPOSITORY, 'docker/Dockerfile'), 'utf8');
    expect(engines).toEqual({ node: /^ARG NODE_IMAGE=node:(\d+)\./m.exec(image)?.[1] });
  },
);

it('AGENTS.md of a workspace has a verb for every stage of the work', async () => {
  const text = readFileSync(join(await makeWorkspace(), 'AGENTS.md'), 'utf8');
  const [, checklist = ''] = text.split('## Before you say it works');
  expect(checklist).toContain('npx svc check');
  for (const verb of ['check', 'build', 'package', 'why', 'logs tail', 'hitl list', 'pull run', 'replay'])
    expect(text).toContain(`npx svc ${verb}`);
});

describe('the install', () => {
  it('is run in the workspace by the package manager the command was started with', async () => {
    const cwd = makeFolder();
    const env = fakeNpm('echo "$@ in $(pwd)" > installed.txt');
    const result = await runCli(['init', 'shop', '--json'], { cwd, env });
    expect(InitPayload.parse(readDocument(result))).toMatchObject({ installed: true, packageManager: 'npm' });
    expect(readFileSync(join(cwd, 'shop/installed.txt'), 'utf8')).toBe(`install in ${join(cwd, 'shop')}\n`);
    const pnpm = await runCli(['init', 'pantry', '--no-install', '--json'], {
      cwd,
      env: { ...env, npm_config_user_agent: 'pnpm/10.34.8 npm/? node/v20.20.2' },
    });
    expect(readDocument(pnpm)).toMatchObject({
      packageManager: 'pnpm',
      next: ['cd pantry', 'pnpm install', 'pnpm svc dev', 'pnpm svc add agent support'],
    });
    expect(readFileSync(join(cwd, 'pantry/package.json'), 'utf8')).toContain(`"link:${REPOSITORY}packages/runtime"`);
  });

  it.each([
    ['a line of no known form', 'no network\n', 'no network'],
    [
      'npm and a package there is none of',
      `npm warn deprecated old@1.0.0
npm error code E404
npm error 404 Not Found - GET https://registry.example/@svc%2fruntime
npm error 404
npm error 404  The requested resource '@svc/runtime@9.9.9' could not be found.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /home/ada/.npm/_logs/debug-0.log
`,
      "Not Found - GET https://registry.example/@svc%2fruntime; The requested resource '@svc/runtime@9.9.9' could not be found.",
    ],
    [
      'an older npm without a network',
      `npm ERR! code ECONNREFUSED
npm ERR! syscall connect
npm ERR! errno ECONNREFUSED
npm ERR! FetchError: request to http://registry.example/zod failed, reason: connect ECONNREFUSED
npm ERR!     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/index.js:130:14) {
npm ERR!   code: 'ECONNREFUSED',
npm ERR!   address: '127.0.0.1',
npm ERR! }

npm ERR! A complete log of this run can be found in:
npm ERR!     /home/ada/.npm/_logs/debug-0.log
`,
      'FetchError: request to http://registry.example/zod failed, reason: connect ECONNREFUSED',
    ],
    [
      'pnpm',
      ` ERR_PNPM_FETCH_404  GET https://registry.example/zodd: Not Found - 404

This error happened while installing a direct dependency of /work/shop
`,
      'ERR_PNPM_FETCH_404  GET https://registry.example/zodd: Not Found - 404',
    ],
    [
      'yarn',
      '➤ YN0000: · Yarn 4.9.0\n➤ YN0035: │ zodd@npm:1.0.0: Package not found\n➤ YN0000: · Failed with errors in 0s 90ms\n',
      'zodd@npm:1.0.0: Package not found',
    ],
    ['bun', 'bun install v1.2.0\nerror: zodd@1.0.0 failed to resolve\n', 'zodd@1.0.0 failed to resolve'],
  ])('that fails leaves a whole workspace, names the reason, and exits 1: %s', async (_, said, reason) => {
    const cwd = makeFolder();
    writeFileSync(join(cwd, 'said.txt'), said);
    const env = fakeNpm(`cat "${join(cwd, 'said.txt')}" >&2; exit 7`);
    const result = await runCli(['init', 'shop', '--json'], { cwd, env });
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      code: 'install_failed',
      message: expect.stringMatching(/is complete in .* it ended with code 7\. It said: /),
    });
    expect(readError(result).message.split(' It said: ')[1]).toBe(reason);
    expect(existsSync(join(cwd, 'shop/svc.json'))).toBe(true);
  });

  it('without a package manager says so', async () => {
    const cwd = makeFolder();
    const result = await runCli(['init', 'shop', '--json'], { cwd, env: { PATH: cwd } });
    expect(readError(result).message).toContain('there is no command "npm"');
  });
});

describe('what a person sees', () => {
  const TRANSCRIPT = [
    ['init', 'shop', '--with', 'workflow-agent', '--no-install'],
    ['add', 'agent', 'my-codex'],
    ['add', 'workflow', 'triage', '--calls', 'my-codex'],
    ['add', 'workflow', 'triage'],
    ['init', '--starter', 'agent'],
  ];

  it.each([80, 120])('is this at %i columns', async (columns) => {
    const folder = makeFolder();
    let text = '';
    for (const argv of TRANSCRIPT) {
      const cwd = existsSync(join(folder, 'shop')) ? join(folder, 'shop') : folder;
      const { stdout, stderr, exitCode } = await runCli(argv, {
        cwd,
        env: { ...UTF8, NO_COLOR: '1' },
        tty: true,
        columns,
      });
      text += `$ svc ${argv.join(' ')}\n${stdout}${stderr}exit ${exitCode}\n\n`;
    }
    const shown = text.replaceAll(folder, '/tmp/work').replaceAll(REPOSITORY.replace(/\/$/, ''), '/src/svc');
    await expect(shown).toMatchFileSnapshot(`transcripts/init-${columns}.txt`);
  });

  it('is a plain list, unbroken, where the output is a pipe', async () => {
    const cwd = makeFolder();
    const { stdout } = await runCli(['init', '.', '--no-install', '--name', 'shop'], { cwd });
    expect(stdout).toMatch(/\n {2}svc\.json\n/);
    expect(stdout).toContain(
      '\nNext:\n  npm install\n  npx svc dev\n\nWhile it serves, in another terminal of that folder:\n  npx svc add agent support\n',
    );
    mkdirSync(join(cwd, 'more'));
    expect((await runCli(['init', '.', '--no-install'], { cwd })).stderr).toContain('is not empty: it has');
  });
});

it('svc init asks on a terminal what npm create svc asks, and nothing with --yes', async () => {
  const cwd = makeFolder();
  const asked = await runCli(['init', 'shop', '--no-install'], { cwd, tty: true, stdin: ['agent', ''] });
  expect(asked).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/agent  +an agent with a tool.*Begin with .*Model provider/s),
  });
  expect(readdirSync(join(cwd, 'shop/deep-agents'))).toEqual(['assistant']);
  const silent = await runCli(['init', 'stall', '--yes', '--no-install'], { cwd, tty: true, stdin: [] });
  expect(silent).toMatchObject({ exitCode: 0, stderr: '' });
});

it.each(REFUSED_WORKFLOW_NAMES)('the workflow name %s, which the runtime refuses, is refused here too', (name) => {
  expect(() => checkEntryName('workflow', name)).toThrow(/is a route of the box/);
});
