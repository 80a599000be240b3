import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase } from '../../../runtime/src/engine/stores/_clients.ts';
import { bothServers, namesOnRedis } from '../../../runtime/test/_cluster.ts';
import { listenTo } from '../../../runtime/test/_sse.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { eventually, linesOf, useRig } from './_setup.ts';

const rig = useRig();

describeWhen(bothServers, 'two svc dev on one Postgres and one Redis', (servers) => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let env: Record<string, string>;
  beforeAll(async () => {
    database = await createDatabase(servers.database);
    env = {
      DATABASE_URL: database.url,
      WORKFLOW_KV_URL: servers.kv,
      AGENT_ID: randomUUID(),
      SVC_SECRET_KEY: randomBytes(32).toString('base64'),
    };
  });
  afterAll(() => database.drop());

  it('share runs, and the one that gets SIGTERM hands its own over and exits with 0', async () => {
    const [one, other] = [await rig.workspace(), await rig.workspace()];
    const [a, b] = [await one.boot({ env }), await other.boot({ env })];
    const input = { log: one.path('log'), gate: one.path('gate') };
    const { runId } = await a.start('gated', input);
    await eventually(() => linesOf(input.log).length === 3);
    expect((await b.run(runId)).status).toBe('running');
    expect(await (await a.fetch('/health')).json()).toMatchObject({ status: 'ok', checks: { kv: { status: 'ok' } } });
    const stopping = a.stop('SIGTERM');
    const refused = await eventually(async () => {
      const answer = await a.fetch('/api/workflows/greet/start', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"name":"Ada"}',
      });
      return answer.status === 503 && answer;
    });
    expect(await (refused as Response).json()).toMatchObject({ code: 'shutting_down' });
    const ended = await stopping;
    expect(ended).toMatchObject({ code: 0, signal: null });
    expect(ended.ms).toBeLessThan(20_000);
    // Taken over while the step that waits for the gate was under way: it alone is done again.
    await eventually(() => linesOf(input.log).length === 4);
    one.write('gate', '');
    expect(await b.finish(runId)).toMatchObject({ status: 'completed', output: ['first', 'second', 'last'] });
    expect(linesOf(input.log).map((line) => line.split(' ')[1])).toEqual([
      'first',
      'second',
      'waiting',
      'waiting',
      'last',
    ]);
    expect((await b.stop('SIGTERM')).code).toBe(0);
  });

  it('share nothing where each has a database of its own, whatever they are called', async () => {
    const AGENT_ID = `twin-${randomUUID()}`;
    const kv = { AGENT_ID, WORKFLOW_KV_URL: servers.kv };
    const workspaces = [await rig.workspace(), await rig.workspace()];
    const [a, b] = await Promise.all(workspaces.map((workspace) => workspace.boot({ env: kv })));
    if (!a || !b) throw new Error('There are two.');
    const stream = await listenTo(`${a.url}/api/events`);
    const other = await b.start('greet', { name: 'Ada' });
    await b.finish(other.runId);
    const own = await a.start('greet', { name: 'Ada' });
    await eventually(() => stream.events('run.ended').some(({ data }) => data['runId'] === own.runId));
    expect(stream.text()).not.toContain(other.runId);
    const prefixes = (await namesOnRedis(servers.kv, AGENT_ID)).map((name) => name.split(':').slice(0, 3).join(':'));
    expect(new Set(prefixes).size).toBe(2);
    await Promise.all([a.stop(), b.stop()]);
  });

  it('that cannot reach Redis is degraded and works', async () => {
    const workspace = await rig.workspace();
    const box = await workspace.boot({
      env: { ...env, WORKFLOW_KV_URL: 'redis://127.0.0.1:1/0', AGENT_ID: randomUUID() },
    });
    const health = await box.fetch('/health');
    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ checks: { journal: { status: 'ok' }, kv: { status: 'failed' } } });
    const { runId } = await box.start('greet', { name: 'Ada' });
    expect((await box.finish(runId)).status).toBe('completed');
    await box.stop();
  });

  it.each(['127.0.0.1:6379', 'http://127.0.0.1:6379', 'redis://127.0.0.1:6379/first'])(
    'say which variable is wrong when WORKFLOW_KV_URL is %s',
    async (value) => {
      const workspace = await rig.workspace();
      const { code, stdout } = await workspace.dev({ env: { WORKFLOW_KV_URL: value } }).ended;
      expect(code).toBe(1);
      expect(JSON.parse(stdout).error.message).toMatch(/^WORKFLOW_KV_URL /);
    },
  );
});
