import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listVariables } from '../../../runtime/src/config.ts';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { findBarePostgres, startBarePostgres } from './_bare-postgres.ts';
import { query, SLOW_MS, useDeployed } from './_deployed.ts';
import type { Env } from './_deployed.ts';
import { occupy, useRig } from './_setup.ts';

const rig = useRig();

/** Complete, and of servers no one reaches: what is wrong with it is found before one is asked. */
const COMPLETE: Env = {
  DATABASE_URL: 'postgres://svc:planted-password@127.0.0.1:1/svc',
  WORKFLOW_KV_URL: 'redis://:planted-password@127.0.0.1:1/0',
  SVC_SECRET_KEY: randomBytes(32).toString('base64'),
};

/** A value no box starts with, and what is said of it. */
const BROKEN: [name: string, value: string, reason: string][] = [
  ['DATABASE_URL', '', 'DATABASE_URL is missing.'],
  ['DATABASE_URL', 'mysql://a:planted@b/c', 'DATABASE_URL is not an address that begins with postgres://'],
  ['WORKFLOW_KV_URL', '', 'WORKFLOW_KV_URL is missing.'],
  ['WORKFLOW_KV_URL', 'redis://h/first', 'WORKFLOW_KV_URL names a database that is no number.'],
  ['SVC_SECRET_KEY', '', 'SVC_SECRET_KEY is missing.'],
  ['SVC_SECRET_KEY', 'planted', 'SVC_SECRET_KEY is not 32 bytes in base64.'],
  ['PORT', '80a', 'PORT is "80a"'],
  ['PORT', '65536', 'PORT is "65536"'],
  ['MODEL_PROVIDER_BASE_URL', 'https://a:planted@p.example', 'MODEL_PROVIDER_BASE_URL carries credentials.'],
  ['SVC_INSTALLATION_ID', 'mine', 'SVC_INSTALLATION_ID is "mine", which is no UUID.'],
  ['AGENT_ID', 'a:b', 'AGENT_ID is not 1 to 128 letters'],
  ['SVC_ORG_SLUG', '*', 'SVC_ORG_SLUG is not 1 to 128 letters'],
  ['SVC_PUBLIC_URL', 'https://box.example/path', 'SVC_PUBLIC_URL has a path'],
  ['SVC_CONTROL_PLANE_URL', 'studio', 'SVC_CONTROL_PLANE_URL is not an address'],
  ['SVC_CORS_ALLOW_ORIGINS', 'https://a.example,b', 'SVC_CORS_ALLOW_ORIGINS has the entry "b"'],
  ['SVC_S3_ACCESS_KEY', 'a', 'SVC_S3_ENDPOINT is missing, and SVC_S3_ACCESS_KEY is set.'],
  ['SVC_LOG_LEVEL', 'loud', 'SVC_LOG_LEVEL is "loud"'],
  [
    'STUDIO_STANDALONE_TOKEN',
    'planted words of a token',
    'STUDIO_STANDALONE_TOKEN has a character that no header carries',
  ],
];

describeWhen(bothServers, 'a deployed box does not start', (servers) => {
  const { makeEnv, start, boot, refuse } = useDeployed(rig, servers);

  it('in an empty environment, and names everything that is missing with a command that makes it', async () => {
    const { stderr } = await refuse({ env: {} });
    expect(stderr).toContain('The box does not start: 3 environment variables are missing or broken.');
    for (const name of ['DATABASE_URL', 'WORKFLOW_KV_URL', 'SVC_SECRET_KEY']) expectExplained(stderr, name);
    expect(stderr).toContain('Make one: openssl rand -base64 32');
  });

  it('with every variable broken, and names all of them at once', async () => {
    const all = new Map(BROKEN.map(([name, value]) => [name, value]));
    const { stderr } = await refuse({ env: Object.fromEntries(all) });
    for (const name of all.keys()) if (name !== 'SVC_S3_ACCESS_KEY') expectExplained(stderr, name);
    expect(stderr).not.toContain('planted');
  });

  it.each(BROKEN)('with %s=%s', async (name, value, reason) => {
    const { stderr } = await refuse({ env: { ...COMPLETE, [name]: value } });
    expect(stderr).toContain(reason);
    expect(stderr).not.toContain('planted');
    expect(stderr).not.toContain(COMPLETE['SVC_SECRET_KEY']);
  });

  it.each([
    ['a server that is not there', 'postgres://svc:planted-password@127.0.0.1:1/svc', 'ECONNREFUSED'],
    ['a password that is wrong', 'postgres://nobody:planted-password@{host}/svc', 'nobody'],
    ['a database that is not there', '{base}/no_such_database', 'no_such_database'],
  ])('with %s', async (_, pattern, reason) => {
    const { host } = new URL(servers.database);
    const base = servers.database.replace(/\/[^/]*$/, '');
    const DATABASE_URL = pattern.replace('{host}', host).replace('{base}', base);
    const { stderr } = await refuse({ env: { ...(await makeEnv()), DATABASE_URL } });
    expect(stderr).toContain('The database that DATABASE_URL names cannot be used');
    expect(stderr).toContain(reason);
    expect(stderr).not.toContain('planted-password');
  });

  it('on a port that someone else has, and says which', async () => {
    const workspace = await rig.workspace();
    const release = await occupy(workspace.ports.api);
    onTestFinished(release);
    const { code, stderr } = await start(workspace, { env: await makeEnv() }).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(`Port ${workspace.ports.api} is in use.`);
    expect(stderr).not.toContain('The box serves.');
  });

  it('without a bundle', async () => {
    const { root } = await rig.workspace();
    expect((await refuse({ env: await makeEnv(), dir: root })).stderr).toContain('There is no bundle in');
  });

  it('on a database a newer build has used, and leaves it as it is', async () => {
    const env = await makeEnv();
    await (await boot({ env })).stop('SIGTERM');
    await query(env, `insert into svc.migrations (hash) values ('from the future')`);
    const before = await query(env, 'select * from svc.migrations order by id');
    expect((await refuse({ env })).stderr).toContain('a newer build has used it');
    expect(await query(env, 'select * from svc.migrations order by id')).toEqual(before);
  });

  it('where the role may not create the vector extension, and leaves the database as it is', async () => {
    const env = await makeEnv();
    const role = `box_${randomBytes(6).toString('hex')}`;
    await query(env, `create role ${role} login password 'word'`);
    const url = new URL(env['DATABASE_URL'] ?? '');
    [url.username, url.password] = [role, 'word'];
    try {
      const { stderr } = await refuse({ env: { ...env, DATABASE_URL: url.href } });
      expect(stderr).toContain('The extension "vector" is not available');
      expect(await query(env, SCHEMAS)).toEqual([]);
    } finally {
      await query(env, `drop role ${role}`);
    }
  });

  it('with another secret key than before, and leaves everything as it is', async () => {
    const env = await makeEnv();
    await (await boot({ env })).stop('SIGTERM');
    const before = await query(env, 'select * from svc.secrets order by name');
    const SVC_SECRET_KEY = randomBytes(32).toString('base64');
    const { stderr } = await refuse({ env: { ...env, SVC_SECRET_KEY } });
    expect(stderr).toContain('SVC_SECRET_KEY is not the key');
    expect(stderr).not.toContain(SVC_SECRET_KEY);
    expect(await query(env, 'select * from svc.secrets order by name')).toEqual(before);
    await (await boot({ env })).stop('SIGTERM');
  });

  it('and asks no one outside for anything before it has read its environment', async () => {
    const asked: string[] = [];
    const server = createServer((request, answer) => {
      asked.push(request.url ?? '');
      answer.end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((done) => server.once('listening', done));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const s3 = { SVC_S3_ENDPOINT: url, SVC_S3_ACCESS_KEY: 'a', SVC_S3_SECRET_KEY: 'b' };
    await refuse({ env: { ...COMPLETE, ...s3, SVC_CONTROL_PLANE_URL: url, PORT: '0' } });
    expect(asked).toEqual([]);
  });

  const bin = findBarePostgres();
  describe.skipIf(bin === undefined)('on a PostgreSQL without pgvector [needs one in /usr/lib/postgresql]', () => {
    it(
      'and leaves the database as it is',
      async () => {
        const server = await startBarePostgres(bin ?? '');
        onTestFinished(server.stop);
        const env = { ...COMPLETE, WORKFLOW_KV_URL: servers.kv, DATABASE_URL: server.url };
        const { stderr } = await refuse({ env });
        expect(stderr).toContain('The extension "vector" is not available in this database');
        expect(stderr).toContain('Install pgvector on the server');
        expect(stderr).toContain('Nothing was changed.');
        expect(await query(env, SCHEMAS)).toEqual([]);
      },
      SLOW_MS,
    );
  });
});

// --- internal ---

/** What a box makes in a database. */
const SCHEMAS = `select nspname from pg_namespace where nspname in ('svc', 'journal')`;

function expectExplained(stderr: string, name: string): void {
  const variable = listVariables().find((one) => one.name === name);
  expect(stderr).toMatch(new RegExp(`^  ${name} .+\\.$`, 'm'));
  expect(stderr).toContain(`    ${variable?.purpose}\n    Make one: ${variable?.make}`);
}
