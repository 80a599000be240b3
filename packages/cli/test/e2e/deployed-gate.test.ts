import { randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { toProof } from '../../../runtime/src/auth/signature.ts';
import { bothServers, namesOnRedis } from '../../../runtime/test/_cluster.ts';
import { signatureOf, startPlane } from '../../../runtime/test/_plane.ts';
import type { Plane } from '../../../runtime/test/_plane.ts';
import { listenTo } from '../../../runtime/test/_sse.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { installationOf, query, recordsOf, send, TOKEN, useDeployed } from './_deployed.ts';
import type { Deployed, Env } from './_deployed.ts';
import { eventually, useRig } from './_setup.ts';
import type { Command } from './_setup.ts';

const rig = useRig();
const WRITE = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };

/** What code of the workspace, and a process it begins, finds of the box's secrets. */
const LOOK = `import { execFileSync } from 'node:child_process';

export async function look() {
  'use workflow';
  return inspect();
}

async function inspect() {
  'use step';
  const secret = /^(DATABASE_URL|WORKFLOW_KV_URL|SVC_SECRET_KEY|STUDIO_STANDALONE_TOKEN|HMAC_SECRET)/;
  const child = execFileSync('/usr/bin/env', { encoding: 'utf8' });
  return {
    own: process.env.SHOP_API_KEY,
    found: Object.keys(process.env).filter((name) => secret.test(name)),
    child: child.split('\\n').filter((line) => secret.test(line)).join(),
  };
}
`;

describeWhen(bothServers, 'the gate of a deployed box', (servers) => {
  const { build, makeEnv, start, boot, keys } = useDeployed(rig, servers);

  /** As a byoc folder has it: registered at this control plane, and no operator. */
  async function bootRegistered(plane: Plane, more: Env = {}): Promise<Deployed & { env: Env }> {
    const env = await makeEnv({
      SVC_CONTROL_PLANE_URL: plane.url,
      SVC_INSTALLATION_ID: plane.installationId,
      HMAC_SECRET: randomBytes(32).toString('hex'),
      ...more,
    });
    return { ...(await boot({ env, key: 'none' })), env };
  }

  async function openPlane(): Promise<Plane> {
    const plane = await startPlane();
    onTestFinished(() => plane.close());
    return plane;
  }

  it('admits those the control plane names, in the role it names, and no other installation’s', async () => {
    const plane = await openPlane();
    const box = await bootRegistered(plane);
    expect(strategyOf(box)).toBe(`The identity gate is armed: identity tokens of ${plane.url}.`);
    const owner = await plane.mint('owner');
    expect(await send(box, 'GET /api/keys', { token: owner })).toMatchObject({ status: 200 });
    const started = await send(box, 'POST /api/workflows/greet/start', { token: owner, body: { name: 'Ada' } });
    expect(started.status).toBe(202);
    const viewer = await plane.mint('viewer');
    expect(await send(box, 'GET /api/runs', { token: viewer })).toMatchObject({ status: 200 });
    expect(await send(box, 'GET /api/keys', { token: viewer })).toMatchObject({ status: 403 });
    const others: [string, string][] = [
      ['of another installation', await plane.mint('owner', { claims: { inst: randomUUID() } })],
      ['that is over', await plane.mint('owner', { claims: { iat: 1_700_000_000, exp: 1_700_000_300 } })],
      ['of another plane', await (await openPlane()).mint('owner')],
      ['of nobody', TOKEN],
    ];
    for (const [whose, token] of others) {
      const { status, body } = await send(box, 'GET /api/runs', { token });
      expect([whose, status, body['code']]).toEqual([whose, 401, 'unauthorized']);
    }
    await box.stop('SIGTERM');
  });

  // It starts fourteen processes, one after the other.
  it('gets its first key from a command in its container, with no control plane', { timeout: 300_000 }, async () => {
    const plane = await openPlane();
    const box = await bootRegistered(plane);
    await plane.close();
    const made = await keys(box.env, 'create', '--name', 'first', '--agents', 'all', '--workflows', 'greet');
    expect([made.code, made.stderr]).toEqual([0, expect.stringMatching(/^Created the key "first" \(\S+\)\.\n$/)]);
    const token = made.stdout.trim();
    const ask = { token, body: { model: 'echo', messages: [{ role: 'user', content: 'say:hi' }] } };
    expect(await send(box, 'POST /wire-a/v1/chat/completions', ask)).toMatchObject({ status: 200 });
    const started = await send(box, 'POST /api/workflows/greet/start', { token, body: { name: 'Ada' } });
    expect(started.status).toBe(202);
    const argv = ['workflows', 'start', 'greet', '--url', box.url, '--input', '{"name":"Ada"}', '--wait', '--json'];
    const waited = await box.workspace.command(argv, { env: { SVC_API_TOKEN: token } }).ended;
    expect([waited.code, waited.stderr]).toEqual([0, '']);
    expect(JSON.parse(waited.stdout)).toMatchObject({
      run: { name: 'greet', status: 'completed', startedBy: { kind: 'key' } },
    });

    const listed = await keys(box.env, 'list');
    const [id = '', prefix = '', status, name] = listed.stdout.trim().split(/\s{2,}/);
    expect([token.startsWith(prefix), status, name]).toEqual([true, 'active', 'first']);
    expect(listed.stdout).not.toContain(token);
    const rows = await query(box.env, 'select operation, source, actor_id, after::text from svc.activity');
    expect(rows).toEqual([
      { operation: 'keys.create', source: 'command', actor_id: 'container', after: expect.not.stringContaining(token) },
    ]);
    expect(await keys(box.env, 'revoke', id)).toMatchObject({ code: 0, stderr: `Revoked the key "first" (${id}).\n` });
    await expect.poll(async () => (await send(box, 'POST /wire-a/v1/chat/completions', ask)).status).toBe(401);
    await box.stop('SIGTERM');
    const logged = await query<{ message: string; fields: object }>(
      box.env,
      `select message, fields from svc.logs where fields->>'security' = 'credentials_changed' order by id`,
    );
    const change = {
      security: 'credentials_changed',
      caller: { id: 'container', name: 'container' },
      source: 'command',
    };
    expect(logged).toEqual(
      ['keys.create', 'keys.revoke'].map((operation) => ({
        message: 'Credentials were changed.',
        fields: { ...change, operation, target: { id } },
      })),
    );

    const refused: [string[], Env, number, string][] = [
      [['create', '--agents', 'all'], box.env, 2, 'A key has a name: add --name <name>.'],
      [['create', '--name', 'a'], box.env, 2, 'The key would open nothing'],
      [['create', '--name', 'a', '--agents', 'all', '--expires-in', 'soon'], box.env, 2, '"soon" is not a duration'],
      [['create', '--name', 'a', '--agent', 'all'], box.env, 2, "'--agent'"],
      [['remove', id], box.env, 2, '"svc-box keys remove'],
      [['revoke', 'nope'], box.env, 1, 'nope'],
      [
        ['list'],
        { ...box.env, SVC_SECRET_KEY: randomBytes(32).toString('base64') },
        1,
        'SVC_SECRET_KEY is not the key',
      ],
      [
        ['list'],
        { ...box.env, DATABASE_URL: 'postgres://127.0.0.1:9/none' },
        1,
        'The database that DATABASE_URL names',
      ],
      [['list'], await makeEnv(), 1, 'has not started yet'],
    ];
    for (const [args, env, code, words] of refused) {
      const ended = await keys(env, ...args);
      expect([args.join(' '), ended.code, ended.stdout]).toEqual([args.join(' '), code, '']);
      expect(ended.stderr).toContain(words);
      expect(ended.stderr).not.toMatch(/^\s+at /m);
    }
  });

  it('takes its secrets from files, its commands too, and leaves none of them to code of the workspace', async () => {
    const dir = await build({ 'workflows/look.workflow.ts': LOOK });
    const env = await makeEnv({ STUDIO_STANDALONE_TOKEN: TOKEN, SHOP_API_KEY: 'of-the-workspace' });
    const workspace = await rig.workspace();
    const given = Object.entries(env).flatMap(([name, value]) => {
      if (!['DATABASE_URL', 'WORKFLOW_KV_URL', 'SVC_SECRET_KEY', 'STUDIO_STANDALONE_TOKEN'].includes(name))
        return [[name, value]];
      workspace.write(`secrets/${name}`, `${value}\n`);
      return [[`${name}_FILE`, workspace.path(`secrets/${name}`)]];
    });
    const inFiles = { ...(Object.fromEntries(given) as Env), HMAC_SECRET: randomBytes(32).toString('hex') };
    const box = await boot({ env: inFiles, dir, workspace, key: 'none' });
    const started = await send(box, 'POST /api/workflows/look/start', { body: {} });
    await expect
      .poll(async () => (await send(box, `GET /api/workflows/runs/${String(started.body['runId'])}`)).body)
      .toMatchObject({ status: 'completed', output: { own: 'of-the-workspace', found: [], child: '' } });
    const made = await keys(inFiles, 'create', '--name', 'first', '--agents', 'all');
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^svc_/)]);
    await box.stop('SIGTERM');
  });

  it('proves to the control plane that it holds the secret, and to no one else', async () => {
    const plane = await openPlane();
    const box = await bootRegistered(plane);
    const secret = box.env['HMAC_SECRET'] ?? '';
    const path = '/api/registration/challenge';
    const nonce = randomBytes(32).toString('hex');
    const body = JSON.stringify({ nonce });
    const challenge = async (signature: string) => {
      const answer = await box.fetch(path, {
        ...WRITE,
        body,
        headers: { ...WRITE.headers, 'x-svc-signature': signature },
      });
      return { status: answer.status, body: await answer.json() };
    };
    const signature = signatureOf({ secret, path, body });
    const { installationId } = plane;
    const proof = toProof(secret, nonce, installationId);
    expect(await challenge(signature)).toEqual({ status: 200, body: { installationId, proof } });
    const wrong = [
      signature,
      signatureOf({ secret: 'another', path, body }),
      signatureOf({ secret, path, body: '{}' }),
    ];
    for (const one of wrong)
      expect(await challenge(one)).toMatchObject({ status: 401, body: { code: 'invalid_signature' } });
    // A secret that is the box's, and no credential.
    expect(await send(box, 'GET /api/runs', { token: secret })).toMatchObject({ status: 401 });
    await box.stop('SIGTERM');
  });

  it('is registered under what it made itself, where the environment names nothing', async () => {
    const plane = await openPlane();
    const env = await makeEnv({ SVC_CONTROL_PLANE_URL: plane.url });
    const box = await boot({ env, key: 'none' });
    const [row] = await query<{ id: string }>(env, 'select id from svc.installation');
    const mine = await plane.mint('owner', { claims: { inst: row?.id } });
    expect(await send(box, 'GET /api/runs', { token: mine })).toMatchObject({ status: 200 });
    expect(await send(box, 'GET /api/runs', { token: await plane.mint('owner') })).toMatchObject({ status: 401 });
    await box.stop('SIGTERM');
  });

  it('admits the operator alone under STUDIO_STANDALONE_TOKEN, and asks the control plane for nothing', async () => {
    const plane = await openPlane();
    const box = await bootRegistered(plane, { STUDIO_STANDALONE_TOKEN: TOKEN });
    expect(strategyOf(box)).toBe('The identity gate is armed: operator token (STUDIO_STANDALONE_TOKEN).');
    expect(await send(box, 'GET /api/keys')).toMatchObject({ status: 200 });
    const token = await plane.mint('owner');
    for (const one of [token, `${TOKEN}x`, null])
      expect(await send(box, 'GET /api/keys', { token: one })).toMatchObject({ status: 401 });
    const asApiKey = await send(box, 'GET /api/keys', { token: null, headers: { 'x-api-key': TOKEN } });
    expect(asApiKey).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect(plane.asked()).toBe(0);
    await box.stop('SIGTERM');
  });

  it.each(['warn', 'error'])('is named in the log of a box that writes %s alone', async (SVC_LOG_LEVEL) => {
    const workspace = await rig.workspace();
    const env = await makeEnv({ SVC_LOG_LEVEL, STUDIO_STANDALONE_TOKEN: TOKEN });
    const box = start(workspace, { env });
    await expect.poll(() => recordsOf(box), { timeout: 60_000 }).toHaveLength(1);
    expect(recordsOf(box)).toMatchObject([{ level: 'info', tenant: expect.any(String) }]);
    expect(strategyOf(box)).toBe('The identity gate is armed: operator token (STUDIO_STANDALONE_TOKEN).');
    box.kill('SIGTERM');
    await box.ended;
  });

  it('shares nothing over Redis with a box of its name and another database', async () => {
    const AGENT_ID = `twin-${randomUUID()}`;
    const [env, other] = [await makeEnv({ AGENT_ID }), await makeEnv({ AGENT_ID })];
    const [a, b] = await Promise.all([
      boot({ env }),
      boot({ env: { ...other, WORKFLOW_KV_URL: inDatabase(servers.kv, 1) } }),
    ]);
    const stream = await listenTo(`${a.url}/api/events`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const limits = { requestsPerMinute: 2 };
    const runIds: unknown[] = [];
    for (const box of [b, a]) {
      const body = { name: 'limited', grants: { agents: [], workflows: ['greet'] }, limits };
      const token = String((await send(box, 'POST /api/keys', { body })).body['value']);
      for (const status of [202, 202, 429])
        expect((await send(box, 'POST /api/workflows/greet/start', { token, body: { name: 'Ada' } })).status).toBe(
          status,
        );
      runIds.push((await box.start('greet', { name: 'Ada' })).runId);
    }
    const [ofOther, own] = runIds;
    await eventually(() => stream.events('run.ended').some(({ data }) => data['runId'] === own));
    expect(stream.text()).not.toContain(ofOther);
    const installations = [a, b].map(installationOf);
    const names = await namesOnRedis(servers.kv, AGENT_ID);
    const ownerOf = (name: string) => installations.findIndex((id) => name.startsWith(`default:${AGENT_ID}:${id}:`));
    expect(new Set(names.map(ownerOf))).toEqual(new Set([0, 1]));
    const made = await keys(other, 'create', '--name', 'later', '--agents', 'all');
    expect(made.code).toBe(0);
    expect((await send(a, 'GET /api/runs', { token: made.stdout.trim() })).status).toBe(401);
    await Promise.all([a.stop('SIGTERM'), b.stop('SIGTERM')]);
  });

  it('that is armed by default trusts the hosted control plane', async () => {
    const box = await boot({ env: await makeEnv(), key: 'none' });
    expect(strategyOf(box)).toMatch(/^The identity gate is armed: identity tokens of https:\/\//);
    await box.stop('SIGTERM');
  });

  const LIST = 'https://app.example.com,https://*.example.org';
  it.each<[string, Env, string, string | null]>([
    ['the hosted dashboard', {}, 'https://studio.svc.example', 'https://studio.svc.example'],
    ['this machine', {}, 'http://localhost:5173', 'http://localhost:5173'],
    ['a stranger', {}, 'https://app.example.com', null],
    ['one on the list', { SVC_CORS_ALLOW_ORIGINS: LIST }, 'https://a.example.org', 'https://a.example.org'],
    [
      'the hosted dashboard, which the list replaces',
      { SVC_CORS_ALLOW_ORIGINS: LIST },
      'https://studio.svc.example',
      null,
    ],
  ])('answers the page of %s what it may read', async (_, more, origin, allowed) => {
    const box = await boot({ env: await makeEnv(more) });
    const preflight = await box.fetch('/api/runs', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBe(allowed);
    expect(preflight.status).not.toBe(403);
    const answer = await send(box, 'GET /api/runs', { headers: { origin } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, allowed]);
    await box.stop('SIGTERM');
  });
});

function inDatabase(url: string, index: number): string {
  return Object.assign(new URL(url), { pathname: `/${index}` }).href;
}

describeWhen(bothServers, 'what a deployed box tells', (servers) => {
  const { makeEnv, boot } = useDeployed(rig, servers);
  /** Every secret a box is given, none of which it may repeat. */
  const planted = {
    SVC_SECRET_KEY: randomBytes(32).toString('base64'),
    HMAC_SECRET: `planted-${randomBytes(16).toString('hex')}`,
    STUDIO_STANDALONE_TOKEN: `planted-${randomBytes(16).toString('hex')}`,
    MODEL_PROVIDER_API_KEY: `planted-${randomBytes(16).toString('hex')}`,
    SVC_S3_SECRET_KEY: `planted-${randomBytes(16).toString('hex')}`,
    SVC_METRICS_TOKEN: `planted-${randomBytes(16).toString('hex')}`,
  };
  const made = { box: undefined as Deployed | undefined, received: [] as string[] };

  beforeAll(async () => {
    const s3 = {
      SVC_S3_ENDPOINT: 'http://127.0.0.1:1',
      SVC_S3_ACCESS_KEY: 'visible-access-key',
      SVC_S3_BUCKET: 'objects',
    };
    const names = { SVC_ORG_SLUG: 'acme', SVC_LOG_LEVEL: 'debug', SVC_PUBLIC_URL: 'https://box.example' };
    made.box = await boot({ env: await makeEnv({ ...planted, ...s3, ...names }), key: 'none' });
  }, 60_000);

  it('is where its services are, without the passwords', async () => {
    const token = planted.STUDIO_STANDALONE_TOKEN;
    const { status, body } = await send(boxOf(made), 'GET /api/services', { token });
    expect(status).toBe(200);
    const { host, username, password } = new URL(servers.database);
    expect(body).toMatchObject({
      database: { url: expect.stringContaining(`postgres://${username}@${host}/`) },
      storage: {
        endpoint: 'http://127.0.0.1:1',
        bucket: 'objects',
        region: 'us-east-1',
        accessKeyId: 'visible-access-key',
        forcePathStyle: true,
      },
      agent: { url: 'https://box.example' },
    });
    expect(JSON.stringify(body)).not.toContain(`:${password}@`);
    made.received.push(JSON.stringify(body));
  });

  it('names the tenant in every record, and no secret anywhere', async () => {
    const box = boxOf(made);
    const token = planted.STUDIO_STANDALONE_TOKEN;
    const model = { model: 'echo', messages: [{ role: 'user', content: 'error:500' }] };
    const calls: [string, unknown?][] = [
      ['GET /health'],
      ['GET /api/runs'],
      ['GET /api/model-provider'],
      ['GET /api/settings'],
      ['GET /api/nothing-here'],
      ['POST /api/workflows/greet/start', { name: 'Ada' }],
      ['POST /api/workflows/greet/start', { name: 1 }],
      ['POST /wire-a/v1/chat/completions', model],
      ['POST /api/registration/challenge', { nonce: 'x' }],
    ];
    for (const [route, body] of calls) made.received.push(JSON.stringify(await send(box, route, { token, body })));
    await box.stop('SIGTERM');
    const records = recordsOf(box);
    expect(records.length).toBeGreaterThan(1);
    for (const { tenant, message } of records)
      expect([message, tenant]).toEqual([message, expect.stringMatching(/^acme:test-[0-9a-f]{12}$/)]);
    const all = [box.stderr(), box.stdout(), ...made.received].join('\n');
    for (const [name, secret] of Object.entries(planted)) expect([name, all.includes(secret)]).toEqual([name, false]);
    const password = new URL(servers.database).password;
    expect(all).not.toContain(`:${password}@`);
  });
});

// --- internal ---

function strategyOf(box: Command): string | undefined {
  return recordsOf(box).find(({ message }) => message.includes('identity gate'))?.message;
}

function boxOf({ box }: { box: Deployed | undefined }): Deployed {
  if (!box) throw new Error('The box has not been started yet.');
  return box;
}
