import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { findServers, startServer } from '../../../../torture/_servers.mjs';
import { startObjectServer } from '@svc/dev-s3';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { startProxy } from '../../../runtime/test/_proxy.ts';
import type { Proxy } from '../../../runtime/test/_proxy.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { query, send, SLOW_MS, useDeployed } from './_deployed.ts';
import type { Env } from './_deployed.ts';
import { eventually, findPort, linesOf, useRig } from './_setup.ts';
import type { Box, Run } from './_setup.ts';

const rig = useRig();
const KEEP = `import { svc } from '@svc/runtime';

export async function keep(text: string) {
  'use workflow';
  await write(text);
  return { text: await read(), keys: await keys(), url: await url() };
}

async function write(text: string) {
  'use step';
  await svc.storage.put('reports/a.txt', text);
}

async function read() {
  'use step';
  return (await svc.storage.get('reports/a.txt')).text();
}

async function keys() {
  'use step';
  return (await svc.storage.list({ prefix: 'reports/' })).items.map(({ key }) => key);
}

async function url() {
  'use step';
  return svc.storage.url('reports/a.txt');
}
`;
const OK = { status: 'ok' };

describeWhen(bothServers, 'a deployed box', (servers) => {
  const { makeEnv, boot } = useDeployed(rig, servers, { 'workflows/keep.workflow.ts': KEEP });

  const stop = async (box: Box) => expect(await box.stop('SIGTERM')).toMatchObject({ code: 0, signal: null });
  const health = async (box: Box) => {
    const { status, body } = await send<{ status: string; checks: Record<string, object> }>(box, 'GET /health', {
      token: null,
    });
    return { status, overall: body.status, checks: body.checks };
  };
  const greet = async (box: Box) => {
    const { runId } = await box.start('greet', { name: 'Ada' });
    expect((await box.finish(runId)).status).toBe('completed');
  };

  async function stand(url: string): Promise<Proxy> {
    const proxy = await startProxy(url);
    onTestFinished(() => proxy.close());
    return proxy;
  }

  it(
    'is degraded while its database is away, stays alive, and goes on with its runs once it is back',
    async () => {
      const env = await makeEnv();
      const proxy = await stand(env['DATABASE_URL'] ?? '');
      const box = await boot({ env: { ...env, DATABASE_URL: proxy.url } });
      const input = { log: box.workspace.path('log'), gate: box.workspace.path('gate') };
      const { runId } = await box.start('gated', input);
      await eventually(() => linesOf(input.log).length === 3);
      proxy.cut();
      const failed = { status: 'failed', reason: expect.any(String) };
      await eventually(async () => (await health(box)).status === 503, { within: 30_000 });
      expect(await health(box)).toMatchObject({ overall: 'degraded', checks: { database: failed, journal: failed } });
      expect((await box.fetch('/live')).status).toBe(200);
      const refused = await send(box, 'POST /api/workflows/greet/start', { body: { name: 'Ada' } });
      expect(refused).toMatchObject({ status: 503, body: { code: 'store_unavailable' } });
      box.workspace.write('gate', '');
      proxy.restore();
      await eventually(async () => (await health(box)).status === 200, { within: 30_000 });
      await greet(box);
      await eventually(async () => (await box.run(runId)).status === 'completed', { within: 90_000, every: 200 });
      expect(linesOf(input.log).filter((line) => line.endsWith('last'))).toHaveLength(1);
      await stop(box);
    },
    SLOW_MS,
  );

  it(
    'is degraded while Redis is away and starts runs all the same, and is well once it is back',
    async () => {
      const proxy = await stand(servers.kv);
      const env = await makeEnv({ WORKFLOW_KV_URL: proxy.url });
      const box = await boot({ env });
      await greet(box);
      for (const away of [proxy.cut, proxy.swallow]) {
        away();
        await eventually(async () => (await health(box)).status === 503, { within: 30_000 });
        expect(await health(box)).toMatchObject({ checks: { kv: { status: 'failed' }, database: OK, journal: OK } });
        await greet(box);
        expect(await box.chat('echo', 'say:still here')).toBe('still here');
        proxy.restore();
        await eventually(async () => (await health(box)).status === 200, { within: 30_000 });
      }
      await greet(box);
      await stop(box);
    },
    SLOW_MS,
  );

  it(
    'boots while Redis is away',
    async () => {
      const proxy = await stand(servers.kv);
      proxy.cut();
      const box = await boot({ env: await makeEnv({ WORKFLOW_KV_URL: proxy.url }) });
      expect((await health(box)).checks).toMatchObject({ kv: { status: 'failed' } });
      await greet(box);
      proxy.restore();
      await eventually(async () => (await health(box)).status === 200, { within: 30_000 });
      await stop(box);
    },
    SLOW_MS,
  );

  it('says which settings of its database may lose what it answered, and is not degraded by them', async () => {
    const env = await makeEnv();
    const name = new URL(env['DATABASE_URL'] ?? '').pathname.slice(1);
    await query(env, `alter database ${name} set synchronous_commit = off`);
    const box = await boot({ env });
    const { status, overall, checks } = await health(box);
    expect([status, overall]).toEqual([200, 'ok']);
    expect(checks['database']).toEqual({ ...OK, warning: expect.stringMatching(/synchronous_commit.* off,/) });
    await stop(box);
  });

  it.skipIf(findServers() === undefined)(
    'says which settings of its Redis drop keys, and is not degraded by them',
    async () => {
      const redis = await startServer('redis');
      onTestFinished(async () => void (await redis.remove()));
      const box = await boot({ env: await makeEnv({ WORKFLOW_KV_URL: redis.url }) });
      expect((await health(box)).checks['kv']).toEqual(OK);
      await tellRedis(redis.port, 'CONFIG SET maxmemory-policy allkeys-lru appendonly no');
      // An answer of health is good for a second.
      await eventually(async () => 'warning' in ((await health(box)).checks['kv'] ?? {}));
      const { status, checks } = await health(box);
      expect(status).toBe(200);
      expect(checks['kv']).toEqual({
        ...OK,
        warning: expect.stringMatching(/^maxmemory-policy is "allkeys-lru", .+ appendonly is "no", /),
      });
      await stop(box);
    },
    SLOW_MS,
  );

  const KEYS = { SVC_S3_ACCESS_KEY: 'objects', SVC_S3_SECRET_KEY: 'planted-secret-of-the-objects' };

  async function startObjects(folder: string, port?: number) {
    const server = await startObjectServer({
      dir: folder,
      port: port ?? 0,
      accessKey: KEYS.SVC_S3_ACCESS_KEY,
      secretKey: KEYS.SVC_S3_SECRET_KEY,
      region: 'us-east-1',
      buckets: ['small'],
    });
    onTestFinished(() => server.close());
    return server;
  }

  it(
    'keeps the objects of its code under its tenant, in the bucket of its slug',
    async () => {
      const folder = (await rig.workspace()).path('objects');
      const { url } = await startObjects(folder);
      const env = await makeEnv({ ...KEYS, SVC_S3_ENDPOINT: url, SVC_ORG_SLUG: 'acme' });
      const box = await boot({ env });
      expect((await health(box)).checks).toEqual({ database: OK, journal: OK, kv: OK, provider: OK, storage: OK });
      const { body } = await send<{ capabilities: string[] }>(box, 'GET /api/contract');
      expect(body.capabilities).toContain('storage.s3');
      const { runId } = await box.start('keep', { args: ['kept'] });
      const run = (await box.finish(runId)) as Run & { output: { text: string; keys: string[]; url: string } };
      expect(run).toMatchObject({ status: 'completed', output: { text: 'kept', keys: ['reports/a.txt'] } });
      expect(await (await fetch(run.output.url)).text()).toBe('kept');
      expect(new URL(run.output.url).pathname).toBe(`/small/acme/${env['AGENT_ID']}/reports/a.txt`);
      await stop(box);
    },
    SLOW_MS,
  );

  it.each<[string, Env, RegExp]>([
    ['the bucket', { SVC_S3_BUCKET: 'another' }, /404 NoSuchBucket/],
    ['the access key', { SVC_S3_ACCESS_KEY: 'someone' }, /403 InvalidAccessKeyId/],
    ['the secret key', { SVC_S3_SECRET_KEY: 'planted-and-wrong' }, /403 SignatureDoesNotMatch/],
    ['the address style', { SVC_S3_FORCE_PATH_STYLE: 'false' }, /./],
  ])(
    'is degraded where %s of its storage is wrong, names it, and works otherwise',
    async (_, wrong, reason) => {
      const { url } = await startObjects((await rig.workspace()).path('objects'));
      // A name, because a bucket cannot stand before an address of numbers.
      const SVC_S3_ENDPOINT = url.replace('127.0.0.1', 'localhost');
      const box = await boot({ env: await makeEnv({ ...KEYS, SVC_S3_ENDPOINT, ...wrong }) });
      const { status, overall, checks } = await health(box);
      expect([status, overall]).toEqual([503, 'degraded']);
      expect(checks['storage']).toEqual({ status: 'failed', reason: expect.stringMatching(reason) });
      expect(JSON.stringify(checks)).not.toContain('planted');
      await greet(box);
      await stop(box);
    },
    SLOW_MS,
  );

  it(
    'is degraded while its storage is away, and well once it is back',
    async () => {
      const [folder, port] = [(await rig.workspace()).path('objects'), await findPort()];
      const SVC_S3_ENDPOINT = `http://127.0.0.1:${port}`;
      const box = await boot({ env: await makeEnv({ ...KEYS, SVC_S3_ENDPOINT }) });
      expect((await health(box)).checks['storage']).toMatchObject({ status: 'failed' });
      await startObjects(folder, port);
      await eventually(async () => (await health(box)).status === 200, { within: 30_000 });
      await stop(box);
    },
    SLOW_MS,
  );
});

// --- internal ---

async function tellRedis(port: number, command: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`${command}\r\n`);
  const answer = await new Promise((done, reject) => socket.once('data', done).once('error', reject));
  socket.destroy();
  expect(String(answer)).toBe('+OK\r\n');
}
