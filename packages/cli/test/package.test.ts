import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractPayload } from '@svc/runtime/host';
import { beforeEach, describe, expect, it } from 'vitest';
import { runCli } from './_run.ts';
import { readDocument, readError } from './_setup.ts';
import { useRig } from './e2e/_setup.ts';
import type { Workspace } from './e2e/_setup.ts';

const rig = useRig();
const VERSION = contractPayload().build.version;
const NOT_COMPILING = 'export default {;\n';
const SECRETS = ['SVC_SECRET_KEY', 'HMAC_SECRET', 'OBJSTORE_ROOT_PASSWORD'];

let workspace: Workspace;
beforeEach(async () => void (workspace = await rig.workspace()));

function run(...args: string[]) {
  return runCli(['package', ...args, '--json'], { cwd: workspace.root });
}

const deployed = (name: string) => workspace.path(`dist/deploy/${name}`);
const read = (name: string) => readFileSync(deployed(name), 'utf8');
const entries = () => readdirSync(deployed('')).sort();

function readEnv(name = '.env'): Record<string, string> {
  const lines = read(name).matchAll(/^([A-Z0-9_]+)=(.*)$/gm);
  return Object.fromEntries(Array.from(lines, ([, key = '', value = '']) => [key, value]));
}

describe('svc package', () => {
  it('answers what is in the folder', async () => {
    const result = await run();
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    const { files, ...rest } = readDocument(result) as { files: string[] };
    expect(rest).toEqual({
      schema_version: 1,
      outDir: workspace.path('dist/deploy'),
      target: 'byoc',
      imageTag: 'svc-agent:latest',
      baseImage: `svc-runtime:${VERSION}`,
      controlPlaneImage: null,
      workflows: ['five', 'gated', 'greet', 'nap'],
      deepAgents: ['echo'],
      degradedWorkflows: [],
      port: 8080,
      controlPlanePort: null,
      offline: false,
      openRuns: null,
    });
    expect(files).toContain('workspace/manifest.json');
    for (const file of files) expect(existsSync(deployed(file))).toBe(true);
    expect(entries()).toEqual([
      '.dockerignore',
      '.env',
      '.env.example',
      'Dockerfile',
      'README.md',
      'base.Dockerfile',
      'docker-compose.yml',
      'workspace',
    ]);
    expect(read('Dockerfile')).toBe(`FROM svc-runtime:${VERSION}\nCOPY workspace/ /workspace/\n`);
    expect(readdirSync(workspace.path('dist'))).toEqual(['deploy']);
  });

  it('has a control plane for self-host, and says where its token is', async () => {
    const document = readDocument(
      await run('--target', 'self-host', '--tag', 'shop:1.4', '--base', 'host:5000/b@sha256:' + 'a'.repeat(64)),
    );
    expect(document).toMatchObject({
      target: 'self-host',
      imageTag: 'shop:1.4',
      baseImage: `host:5000/b@sha256:${'a'.repeat(64)}`,
      controlPlaneImage: `svc-control-plane:${VERSION}`,
      port: 8080,
      controlPlanePort: 3000,
    });
    const { stdout } = await runCli(['package', '--target', 'self-host'], { cwd: workspace.root });
    expect(stdout.replace(/\s+/g, ' ')).toContain('Its token is STUDIO_STANDALONE_TOKEN in .env.');
    expect(stdout).toMatch(
      /Still to be set in \.env:\n {2}SVC_PUBLIC_URL {2}needed to start\n {2}MODEL_PROVIDER_BASE_URL/,
    );
    expect(read('README.md')).toContain('sign in with\n`STUDIO_STANDALONE_TOKEN` of `.env`');
    expect(read('base.Dockerfile')).toContain(`@svc/control-plane@${VERSION}`);
  });

  it('calls the image after the agent the workspace is linked to, whatever svc.json says', async () => {
    const link = { endpoint: 'https://plane.example.com', installationId: 'i-1', name: 'Shop Front' };
    workspace.write('.svc/project.json', JSON.stringify(link));
    expect(readDocument(await run())).toMatchObject({ imageTag: 'shop-front:latest' });
    expect(readDocument(await run('--tag', 'shop:1.4'))).toMatchObject({ imageTag: 'shop:1.4' });
  });

  it.each([
    ['--tag', 'No Tag'],
    ['--base', 'No Base'],
    ['--base-archive', 'nowhere.tar'],
  ])('refuses %s %s before it builds', async (...flag) => {
    const { exitCode, stderr } = await runCli(['package', ...flag], { cwd: workspace.root });
    expect(exitCode).toBe(1);
    expect(stderr).not.toContain('Building');
  });

  it('takes the folder from the project, not from where it is run', async () => {
    const result = await runCli(['package', workspace.root, '--out-dir', 'out/here', '--json'], { cwd: '/' });
    expect(readDocument(result)).toMatchObject({ outDir: workspace.path('out/here') });
  });

  it('names a workflow that does not compile and exits with 0', async () => {
    workspace.write(
      'workflows/bad.workflow.ts',
      `import './nowhere.ts';\nexport async function bad() {\n  'use workflow';\n}\n`,
    );
    const result = await run();
    expect(result.exitCode).toBe(0);
    expect(readDocument(result)).toMatchObject({ degradedWorkflows: ['bad'] });
  });
});

describe('the .env of a folder', () => {
  it.each([
    ['byoc', SECRETS],
    ['self-host', [...SECRETS, 'STUDIO_STANDALONE_TOKEN']],
  ])('of %s holds the secrets %j, for its owner alone', async (target, secrets) => {
    await run('--target', target);
    const env = readEnv();
    const set = Object.entries(env).filter(([, value]) => value !== '');
    expect(set.map(([name]) => name)).toEqual(secrets);
    for (const [, value] of set) expect(value.length).toBeGreaterThanOrEqual(43);
    expect(Buffer.from(env['SVC_SECRET_KEY'] ?? '', 'base64')).toHaveLength(32);
    expect(statSync(deployed('.env')).mode & 0o777).toBe(0o600);
    expect(Object.keys(readEnv('.env.example'))).toEqual(Object.keys(env));
    expect(Object.values(readEnv('.env.example')).filter(Boolean)).toEqual([]);
    expect(read('.env.example').match(/^# .+\n[A-Z0-9_]+=$/gm)).toHaveLength(Object.keys(env).length);
  });

  it('never speaks of the standalone token for byoc, and makes no installation id for either', async () => {
    await run();
    for (const name of ['.env', '.env.example', 'docker-compose.yml', 'README.md'])
      expect(read(name)).not.toContain('STUDIO_STANDALONE_TOKEN');
    for (const name of ['.env', '.env.example']) expect(read(name)).not.toMatch(/INSTALLATION_ID/);
    // One that a control plane has given reaches the box.
    expect(read('docker-compose.yml')).toContain('${SVC_INSTALLATION_ID:-}');
    await run('--target', 'self-host');
    for (const name of ['.env', '.env.example', 'docker-compose.yml'])
      expect(read(name)).not.toMatch(/INSTALLATION_ID/);
  });

  it('is byte by byte the same after a second run, and closed again', async () => {
    await run();
    const before = read('.env');
    chmodSync(deployed('.env'), 0o644);
    await run();
    expect(read('.env')).toBe(before);
    expect(statSync(deployed('.env')).mode & 0o777).toBe(0o600);
  });

  it('keeps every line, gets what another target needs, and a value for a secret that stands empty', async () => {
    await run();
    const { HMAC_SECRET } = readEnv();
    const mine = `# mine\nEXTRA=1\nSVC_SECRET_KEY="kept"\nexport OBJSTORE_ROOT_PASSWORD=''\nHMAC_SECRET=${HMAC_SECRET}`;
    writeFileSync(deployed('.env'), mine);
    await run('--target', 'self-host');
    const lines = read('.env').split('\n');
    expect(lines.slice(0, 3)).toEqual(['# mine', 'EXTRA=1', 'SVC_SECRET_KEY="kept"']);
    expect(lines[3]).toMatch(/^OBJSTORE_ROOT_PASSWORD=[0-9a-f]{64}$/);
    expect(lines[4]).toBe(`HMAC_SECRET=${HMAC_SECRET}`);
    expect(readEnv()).toMatchObject({
      STUDIO_STANDALONE_TOKEN: expect.stringMatching(/^[\w-]{43}$/),
      SVC_PUBLIC_URL: '',
    });
    expect(read('.env').match(/^(?:export )?SVC_SECRET_KEY=/gm)).toHaveLength(1);
  });
});

describe('svc package refuses with 1', () => {
  // Were anything compiled first, its failure would be reported.
  beforeEach(() => workspace.write('deep-agents/echo/index.ts', NOT_COMPILING));

  it.each([
    [['--target', 'cloud'], '--target does not take "cloud".'],
    [['--target', ''], '--target needs a value.'],
    [['--out-dir', ''], '--out-dir needs a value.'],
    [['--out-dir', ' '], '--out-dir needs a value.'],
    [['--tag', ''], '--tag needs a value.'],
    [['--base='], '--base needs a value.'],
    [['--base-archive', ''], '--base-archive needs a value.'],
    [['--tag', 'Shop'], '--tag is "Shop", which is no name of an image.'],
    [['--tag', 'a:b\nRUN x'], '--tag is "a:b\nRUN x", which is no name of an image.'],
    [['--base', 'a b'], '--base is "a b", which is no name of an image.'],
    [['--offline=yes'], '--offline takes no value.'],
    [['--agent', 'x'], '"svc package" has no flag "--agent".'],
  ])('%j', async (args, message) => {
    const result = await run(...args);
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({ code: 'generic', message, suggestion: expect.stringMatching(/\w/) });
    expect(existsSync(workspace.path('dist'))).toBe(false);
  });

  it.each(['.', 'workflows', 'svc.json'])('the folder "%s", which holds something else', async (folder) => {
    const before = readdirSync(workspace.root);
    const result = await run('--out-dir', folder);
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({
      code: 'package_failed',
      message: expect.stringContaining('overwritten'),
    });
    expect(readdirSync(workspace.root)).toEqual(before);
  });

  it('a workspace that does not compile, and leaves no folder', async () => {
    const result = await run();
    expect(result.exitCode).toBe(1);
    expect(readError(result)).toMatchObject({ code: 'build_failed' });
    expect(readdirSync(workspace.path('dist'))).toEqual([]);
  });
});

describe('a folder that is there', () => {
  it('is as it was when the compile fails', async () => {
    await run();
    const files = ['.env', 'docker-compose.yml', 'workspace/manifest.json'];
    const before = files.map(read);
    workspace.write('deep-agents/echo/index.ts', NOT_COMPILING);
    expect((await run('--target', 'self-host')).exitCode).toBe(1);
    expect(files.map(read)).toEqual(before);
    expect(readdirSync(workspace.path('dist'))).toEqual(['deploy']);
  });

  it('keeps the files of others, and gets the workspace of now', async () => {
    await run();
    writeFileSync(deployed('docker-compose.override.yml'), 'services: {}\n');
    writeFileSync(deployed('agent-image.tar'), 'of an earlier run');
    workspace.remove('workflows/nap.workflow.ts');
    await run('--target', 'self-host');
    expect(read('docker-compose.override.yml')).toBe('services: {}\n');
    expect(existsSync(deployed('agent-image.tar'))).toBe(false);
    expect(readdirSync(deployed('workspace/workflows')).join()).not.toContain('nap');
  });

  it('may hold nothing but its .env', async () => {
    mkdirSync(deployed(''), { recursive: true });
    writeFileSync(deployed('.env'), 'HMAC_SECRET=kept\n');
    expect((await run()).exitCode).toBe(0);
    expect(readEnv()).toMatchObject({ HMAC_SECRET: 'kept', SVC_SECRET_KEY: expect.stringMatching(/=$/) });
  });

  it('is the same in all but its .env when nothing changed', async () => {
    const files = (readDocument(await run()) as { files: string[] }).files.filter((name) => name !== '.env');
    const before = files.map(read);
    await run();
    expect(files.map(read)).toEqual(before);
    expect(join(...files)).not.toContain('.new');
  });
});
