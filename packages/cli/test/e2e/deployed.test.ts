import { expect, it } from 'vitest';
import { createApiKeys } from '../../../runtime/src/keys/api-keys.ts';
import { createUserSecrets } from '../../../runtime/src/keys/user-secrets.ts';
import { newMasterKey } from '../../../runtime/src/secrets/master-key.ts';
import { openDatabase } from '../../../runtime/src/stores/database.ts';
import { openPg } from '../../../runtime/src/stores/pg.ts';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { NODE_VERSIONS, nodeBinary } from '../../../../scripts/node-matrix.mjs';
import { errorsOf, installationOf, query, SLOW_MS, useDeployed } from './_deployed.ts';
import type { Deployed, StartOptions } from './_deployed.ts';
import { eventually, linesOf, useRig } from './_setup.ts';
import type { Workspace } from './_setup.ts';

const rig = useRig();

describeWhen(bothServers, 'a deployed box', (servers) => {
  const { build, makeEnv, boot: bootWith } = useDeployed(rig, servers);

  /** As a byoc folder has it: no operator, so requests carry an API key. */
  async function boot(workspace: Workspace, options: StartOptions): Promise<Deployed> {
    const box = await bootWith({ ...options, workspace, key: 'none yet' });
    const key = await makeKey(options.env);
    return { ...box, ...workspace.talkTo(box, { port: workspace.ports.api, key }) };
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

  it('works on as many runs at once as SVC_MAX_RUNS says; another waits for a place', async () => {
    const [workspace, env] = [await rig.workspace(), await makeEnv({ SVC_MAX_RUNS: '1' })];
    const box = await boot(workspace, { env });
    const [log, gate] = [workspace.path('log'), workspace.path('gate')];
    const first = await box.start('gated', { log, gate });
    await eventually(() => linesOf(log).length === 3);
    const second = await box.start('greet', { name: 'Ada' });
    expect((await box.run(second.runId)).status).toBe('queued');
    workspace.write('gate', '');
    expect(await box.finish(first.runId)).toMatchObject({ status: 'completed' });
    expect(await box.finish(second.runId)).toMatchObject({ status: 'completed' });
    expect(await box.stop('SIGTERM')).toMatchObject({ code: 0 });
  });

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
      body: { ...ok, checks: { database: ok, journal: ok, kv: ok, provider: ok } },
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
      const done = linesOf(log).length;
      const second = await boot(workspace, { env });
      // Its lease has to end first: someone else may hold it on another machine. That half minute passes at once here.
      expect(linesOf(log)).toHaveLength(done);
      expect(await query(env, `select status from journal.runs where lease_until > ${Date.now()}`)).toHaveLength(1);
      await query(env, 'update journal.runs set lease_until = lease_until - 30000');
      await eventually(async () => (await second.run(runId)).status === 'completed', { within: 30_000, every: 50 });
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
      // A key would not see a run that a person began.
      const box = await bootWith({ workspace, env });
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
    // To a person: an API key is not shown where in the code it was.
    const [workspace, env] = [await rig.workspace(), { ...(await makeEnv()), SVC_INSECURE_LOCAL: '1' }];
    const box = await boot(workspace, { env, dir });
    const person = workspace.talkTo(box, { port: workspace.ports.api });
    const { runId } = await person.start('throws', {});
    const run = await person.finish(runId);
    expect(JSON.stringify(run.error)).toContain('throws.workflow.ts:4:');
    await box.stop('SIGTERM');
  });

  it(
    'svc start runs the bundle of the workspace, and under SVC_INSECURE_LOCAL lets this machine in',
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
      expect(box.stderr()).toContain('no credential is asked for');
      expect(await box.stop()).toMatchObject({ code: 0, signal: null });
    },
    SLOW_MS,
  );
});

// --- internal ---

/** Another key of one client, for everything. A person would make it; there is no one here whom the box takes for one. */
async function makeKey(env: Record<string, string>): Promise<string> {
  const database = openDatabase(openPg(env['DATABASE_URL'] ?? ''));
  const grants = { agents: 'all', workflows: 'all' } as const;
  const { value } = await createApiKeys({
    db: database.db,
    userSecrets: createUserSecrets({ db: database.db, key: newMasterKey() }),
  }).create({
    name: 'test',
    client: 'test',
    grants,
    expiresAt: null,
    createdBy: 'test',
  });
  await database.close();
  return value;
}
