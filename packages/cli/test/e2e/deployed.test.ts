import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKeys } from '../../../runtime/src/auth/api-keys.ts';
import { createDatabase } from '../../../runtime/src/engine/stores/_clients.ts';
import { openDatabase } from '../../../runtime/src/stores/database.ts';
import { openPg } from '../../../runtime/src/stores/pg.ts';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { NODE_VERSIONS, nodeBinary } from '../../../../scripts/node-matrix.mjs';
import { eventually, linesOf, occupy, useRig } from './_setup.ts';
import type { Box, Command, Ended, Workspace } from './_setup.ts';

const SVC_BOX = fileURLToPath(new URL('../../../runtime/bin.mjs', import.meta.url));
/** A killed box's runs wait for its lease to end; fetching a Node takes a while, the first time. */
const SLOW_MS = 300_000;

const rig = useRig();

describeWhen(bothServers, 'a deployed box', (servers) => {
  const folders: string[] = [];
  const databases: { drop(): Promise<void> }[] = [];
  let bundle: string;

  async function build(files: Record<string, string> = {}): Promise<string> {
    const workspace = await rig.workspace(files);
    const { code, stderr } = await workspace.svc('build');
    if (code !== 0) throw new Error(stderr);
    // Where nothing of the project is, as in an image.
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-bundle-')));
    folders.push(folder);
    cpSync(workspace.path('dist/workspace'), folder, { recursive: true });
    return folder;
  }

  async function makeEnv(): Promise<Record<string, string>> {
    const database = await createDatabase(servers.database);
    databases.push(database);
    return {
      DATABASE_URL: database.url,
      WORKFLOW_KV_URL: servers.kv,
      SVC_SECRET_KEY: randomBytes(32).toString('base64'),
      AGENT_ID: `test-${randomBytes(6).toString('hex')}`,
      MODEL_PROVIDER_BASE_URL: rig.model().url,
    };
  }

  beforeAll(async () => void (bundle = await build()), SLOW_MS);
  afterAll(async () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    await Promise.all(databases.map((database) => database.drop()));
  });

  interface Booting {
    env: Record<string, string>;
    dir?: string;
    node?: string;
  }

  function startBox(workspace: Workspace, { env, dir = bundle, node }: Booting): Command {
    const port = { PORT: String(workspace.ports.api) };
    return workspace.command([dir], { bin: SVC_BOX, env: { ...port, ...env }, ...(node ? { node } : {}) });
  }

  async function boot(workspace: Workspace, booting: Booting): Promise<Box> {
    const command = startBox(workspace, booting);
    await untilServing(command);
    return workspace.talkTo(command, { port: workspace.ports.api, key: await makeKey(booting.env) });
  }

  it.each(NODE_VERSIONS)(
    'chats, runs a workflow and stops with 0, on Node %s',
    async (version) => {
      const [workspace, env] = [await rig.workspace(), await makeEnv()];
      const box = await boot(workspace, { env, node: await nodeBinary(version) });
      expect(await box.chat('echo', 'tool:answer {}')).toContain('agent-1 word-1');
      const { runId } = await box.start('greet', { name: 'Ada' });
      expect((await box.finish(runId)).output).toBe('workflow-1 hello-1 Ada');
      expect(await box.stop('SIGTERM')).toMatchObject({ code: 0, signal: null });
      expect(errorsOf(box)).toEqual([]);
    },
    SLOW_MS,
  );

  it('answers its probes to anybody, and everything else with a credential alone', async () => {
    const [workspace, env] = [await rig.workspace(), await makeEnv()];
    const box = await boot(workspace, { env });
    const ask = async (path: string, init?: RequestInit) => {
      const response = await box.fetch(path, init);
      return { status: response.status, body: (await response.json()) as unknown };
    };
    const ok = { status: 'ok' };
    expect(await ask('/live')).toEqual({ status: 200, body: ok });
    expect(await ask('/health')).toEqual({
      status: 200,
      body: { ...ok, checks: { database: ok, journal: ok, kv: ok } },
    });
    expect(await ask('/api/health')).toMatchObject({ status: 200, body: { host: 'image', slug: 'small' } });
    expect(await ask('/api/contract')).toMatchObject({ status: 200, body: { version: 15 } });
    for (const path of ['/api/runs', '/api/workflows', '/api/model-provider', '/api/services', '/api/keys'])
      expect(await ask(path)).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    const write = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    expect(await ask('/api/workflows/greet/start', write)).toMatchObject({ status: 401 });
    expect(await ask('/wire-a/v1/chat/completions', write)).toMatchObject({ status: 401 });
    const stranger = { ...write, headers: { ...write.headers, authorization: 'Bearer any' } };
    expect(await ask('/api/workflows/greet/start', stranger)).toMatchObject({ status: 401 });
    expect(await ask('/wire-a/v1/chat/completions', stranger)).toMatchObject({ status: 401 });
    await box.stop('SIGTERM');
  });

  it(
    'goes on after kill -9 with the runs it had, and is the same installation',
    async () => {
      const [workspace, env] = [await rig.workspace(), await makeEnv()];
      const first = await boot(workspace, { env });
      const log = workspace.path('log.txt');
      const { runId } = await first.start('five', { log, name: 'run' });
      await eventually(() => linesOf(log).length >= 2);
      await first.stop('SIGKILL');
      const second = await boot(workspace, { env });
      // Its lease has to end first: somebody else may hold it on another machine.
      await eventually(async () => (await second.run(runId)).status === 'completed', { within: 90_000, every: 200 });
      const keys = new Set(linesOf(log).map((line) => line.split(' ')[0]));
      expect(keys.size).toBe(5);
      expect(linesOf(log).length).toBeLessThanOrEqual(6);
      expect(installationOf(second)).toBe(installationOf(first));
      await second.stop('SIGTERM');
    },
    SLOW_MS,
  );

  it(
    'answers until its runs are given back when it gets SIGTERM, and refuses what would begin',
    async () => {
      const [workspace, env] = [await rig.workspace(), await makeEnv()];
      const box = await boot(workspace, { env });
      const input = { log: workspace.path('log'), gate: workspace.path('gate') };
      const { runId } = await box.start('gated', input);
      await eventually(() => linesOf(input.log).length === 3);
      const stopping = box.stop('SIGTERM');
      const refused = await eventually(() =>
        box.start('greet', { name: 'Ada' }).then(
          () => undefined,
          (error: Error) => error.message.startsWith('503') && error.message,
        ),
      );
      expect(refused).toContain('shutting_down');
      expect((await box.fetch('/live')).status).toBe(200);
      const ended = await stopping;
      expect(ended).toMatchObject({ code: 0, signal: null });
      expect(ended.ms).toBeLessThan(20_000);
      workspace.write('gate', '');
      const second = await boot(workspace, { env });
      expect(await second.finish(runId)).toMatchObject({ status: 'completed', output: ['first', 'second', 'last'] });
      await second.stop('SIGTERM');
    },
    SLOW_MS,
  );

  it(
    'takes over a run of svc dev on the same database: both have the same code',
    async () => {
      const [workspace, env] = [await rig.workspace(), await makeEnv()];
      const dev = await workspace.boot({ env });
      const input = { log: workspace.path('log'), gate: workspace.path('gate') };
      const { runId } = await dev.start('gated', input);
      await eventually(() => linesOf(input.log).length === 3);
      expect((await dev.stop('SIGTERM')).code).toBe(0);
      workspace.write('gate', '');
      const box = await boot(workspace, { env });
      expect(await box.finish(runId)).toMatchObject({ status: 'completed', output: ['first', 'second', 'last'] });
      const again = await box.start('gated', input);
      await box.finish(again.runId);
      const hashes = await query(env, `select distinct code_hash from journal.runs where name = 'gated'`);
      expect(hashes).toHaveLength(1);
      await box.stop('SIGTERM');
    },
    SLOW_MS,
  );

  it('ships a workflow that does not compile, and says so where it is started', async () => {
    const dir = await build({
      'workflows/bad.workflow.ts': `import './nowhere.ts';\nexport async function bad() {\n  'use workflow';\n}\n`,
    });
    const [workspace, env] = [await rig.workspace(), await makeEnv()];
    const box = await boot(workspace, { env, dir });
    await expect(box.start('bad', {})).rejects.toThrow(/^503 .*workflow_compile_failed/);
    const { runId } = await box.start('greet', { name: 'Ada' });
    expect((await box.finish(runId)).status).toBe('completed');
    expect(box.stderr()).toContain('nowhere.ts');
    await box.stop('SIGTERM');
  });

  it('shows an error of the workspace by its place in the sources', async () => {
    const dir = await build({
      'workflows/throws.workflow.ts': `// line 1\nexport async function throws() {\n  'use workflow';\n  throw new Error('on line 4');\n}\n`,
    });
    const [workspace, env] = [await rig.workspace(), await makeEnv()];
    const box = await boot(workspace, { env, dir });
    const { runId } = await box.start('throws', {});
    const run = await box.finish(runId);
    expect(JSON.stringify(run.error)).toContain('workflows/throws.workflow.ts:4:');
    await box.stop('SIGTERM');
  });

  describe('does not start', () => {
    /** How a box ends that must not open its port, which somebody else holds meanwhile: it never gets so far. */
    async function refuse(booting: Booting, options: { dir?: string } = {}): Promise<Ended> {
      const workspace = await rig.workspace();
      const release = await occupy(workspace.ports.api);
      const ended = await startBox(workspace, { ...booting, ...options }).ended;
      await release();
      expect(ended.code).toBe(1);
      expect(ended.stderr).not.toContain('is in use');
      expect(ended.stderr).not.toMatch(/^\s+at /m);
      return ended;
    }

    it('in an empty environment, and names everything that is missing with a command that makes it', async () => {
      const { stderr } = await refuse({ env: {} });
      for (const name of ['DATABASE_URL', 'WORKFLOW_KV_URL', 'SVC_SECRET_KEY'])
        expect(stderr).toContain(`${name} is missing.`);
      expect(stderr).toContain('Make one: openssl rand -base64 32');
    });

    it.each([
      ['PORT', '80a', 'PORT is "80a"'],
      ['SVC_INSTALLATION_ID', 'mine', 'SVC_INSTALLATION_ID is "mine"'],
      ['SVC_PUBLIC_URL', 'https://box.example/path', 'SVC_PUBLIC_URL has a path'],
      ['DATABASE_URL', 'postgres://127.0.0.1:1/svc', 'The database that DATABASE_URL names cannot be used'],
    ])('with %s=%s', async (name, value, reason) => {
      expect((await refuse({ env: { ...(await makeEnv()), [name]: value } })).stderr).toContain(reason);
    });

    it('without a bundle', async () => {
      const { root } = await rig.workspace();
      expect((await refuse({ env: await makeEnv() }, { dir: root })).stderr).toContain('There is no bundle in');
    });

    it('on a database a newer build has used, and leaves it as it is', async () => {
      const [workspace, env] = [await rig.workspace(), await makeEnv()];
      await (await boot(workspace, { env })).stop('SIGTERM');
      await query(env, `insert into svc.migrations (hash) values ('from the future')`);
      const before = await query(env, 'select * from svc.migrations order by id');
      expect((await refuse({ env })).stderr).toContain('a newer build has used it');
      expect(await query(env, 'select * from svc.migrations order by id')).toEqual(before);
    });

    it('where the vector extension cannot be had, and leaves the database as it is', async () => {
      const env = await makeEnv();
      const role = `box_${randomBytes(6).toString('hex')}`;
      await query(env, `create role ${role} login password 'word'`);
      const url = new URL(env['DATABASE_URL'] ?? '');
      [url.username, url.password] = [role, 'word'];
      try {
        const { stderr } = await refuse({ env: { ...env, DATABASE_URL: url.href } });
        expect(stderr).toContain('The extension "vector" is not available');
        expect(await query(env, `select nspname from pg_namespace where nspname like 'svc%'`)).toEqual([]);
      } finally {
        await query(env, `drop role ${role}`);
      }
    });

    it('with another secret key than before', async () => {
      const [workspace, env] = [await rig.workspace(), await makeEnv()];
      await (await boot(workspace, { env })).stop('SIGTERM');
      const { stderr } = await refuse({ env: { ...env, SVC_SECRET_KEY: randomBytes(32).toString('base64') } });
      expect(stderr).toContain('SVC_SECRET_KEY is not the key');
    });
  });

  describe('svc start', () => {
    it(
      'runs the bundle of the workspace, and under SVC_INSECURE_LOCAL lets this machine in',
      async () => {
        const [workspace, env] = [await rig.workspace(), await makeEnv()];
        expect((await workspace.svc('build', '--json')).code).toBe(0);
        const command = workspace.command(['start', '--json'], {
          env: { ...env, PORT: String(workspace.ports.api), SVC_INSECURE_LOCAL: '1' },
        });
        await eventually(() => command.stdout().endsWith('\n'), { within: 30_000 });
        expect(JSON.parse(command.stdout())).toMatchObject({
          schema_version: 1,
          agent_url: `http://127.0.0.1:${workspace.ports.api}`,
          gate: { open: true, reason: 'model-provider-env' },
          deep_agents: ['echo'],
          workflows: ['five', 'gated', 'greet', 'nap'],
        });
        const box = workspace.talkTo(command, { port: workspace.ports.api });
        const { runId } = await box.start('greet', { name: 'Ada' });
        expect((await box.finish(runId)).status).toBe('completed');
        expect(await box.chat('echo', 'tool:answer {}')).toContain('agent-1 word-1');
        expect(box.stderr()).toContain('nobody is asked for a credential');
        expect(await box.stop()).toMatchObject({ code: 0, signal: null });
      },
      SLOW_MS,
    );
  });
});

// --- internal ---

async function untilServing(command: Command): Promise<void> {
  const over = command.ended.then(({ code, stderr }) => {
    throw new Error(`The box ended with ${code} before it served.\n${stderr}`);
  });
  await Promise.race([eventually(() => command.stderr().includes('The box serves.'), { within: 60_000 }), over]);
}

/** A key for everything. A person would make it; there is nobody here whom the box takes for one. */
async function makeKey(env: Record<string, string>): Promise<string> {
  const database = openDatabase(openPg(env['DATABASE_URL'] ?? ''));
  const grants = { agents: 'all', workflows: 'all' } as const;
  const { value } = await createApiKeys({ db: database.db }).create({
    name: 'test',
    grants,
    expiresAt: null,
    createdBy: 'test',
  });
  await database.close();
  return value;
}

async function query(env: Record<string, string>, text: string): Promise<unknown[]> {
  const client = openPg(env['DATABASE_URL'] ?? '');
  return client.query(text).finally(() => client.close());
}

interface LogRecord {
  level: string;
  message: string;
  installation?: string;
}

function recordsOf(box: Command): LogRecord[] {
  const lines = box
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as LogRecord);
}

function errorsOf(box: Command): LogRecord[] {
  return recordsOf(box).filter(({ level }) => level !== 'info');
}

function installationOf(box: Command): string | undefined {
  return recordsOf(box).find(({ installation }) => installation !== undefined)?.installation;
}
