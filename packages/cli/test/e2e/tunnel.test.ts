import { generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import { request as send } from 'node:http';
import { expect, it } from 'vitest';
import { createRelay } from '../../../control-plane/src/tunnel/relay.ts';
import type { Relay } from '../../../control-plane/src/tunnel/relay.ts';
import { makeHome, startPlane } from '../_control-plane.ts';
import type { FakePlane } from '../_control-plane.ts';
import { runCli } from '../_run.ts';
import { eventually, useRig } from './_setup.ts';

const rig = useRig();

const silent = () => {};
const log = { debug: silent, info: silent, warn: silent, error: silent };

/** A control plane whose relay people reach, and what signs for it. */
async function startAll() {
  const plane = await startPlane();
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  plane.keys.push({ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'EdDSA' });
  const relay = makeRelay(plane);
  plane.relay = relay;
  const agent = { id: randomUUID(), name: 'desk', deployment: null };
  plane.agents.push(agent);
  const home = makeHome(plane);
  await runCli(['login', '--json'], { env: home });
  const mint = (aud: string) => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = {
      iss: plane.url,
      aud: `${plane.url}/${aud}`,
      sub: 'ada',
      org: 'acme',
      inst: agent.id,
      role: 'owner',
    };
    const header = { alg: 'EdDSA', kid: 'k', typ: 'svc-identity+jwt' };
    const signed = [header, { ...claims, iat: now, exp: now + 300 }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
  };
  const workspace = await rig.workspace();
  workspace.write('.svc/project.json', JSON.stringify({ endpoint: plane.url, installationId: agent.id, name: 'desk' }));
  const { HOME = '' } = home;
  return { plane, relay, agent, mint, workspace, env: { HOME, SVC_CONTROL_PLANE_URL: plane.url } };
}

function makeRelay(plane: FakePlane): Relay {
  return createRelay({
    now: Date.now,
    log,
    key: randomBytes(32),
    domain: 'localhost',
    publicUrl: () => plane.url,
    addressOf: ({ socket }) => socket.remoteAddress,
  });
}

interface Asked {
  path: string;
  token?: string;
  body?: object;
}

/** What comes of a request to the public address, chunk by chunk: the name need not be known to this machine. */
async function ask(publicUrl: string, { path, token, body }: Asked) {
  const { host, port } = new URL(publicUrl);
  const headers = {
    host,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const request = send({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.once('end', () => resolve({ status: response.statusCode, text }));
    });
    request.once('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

it('svc dev of a linked workspace is reached under its public address, by whom the control plane vouches for', async () => {
  const { plane, agent, mint, workspace, env } = await startAll();
  const box = await workspace.boot({ env });
  const { public_url: publicUrl, deeplink } = box.payload as unknown as Record<string, string>;
  if (!publicUrl) throw new Error(`There is no public address: ${box.stderr()}`);
  expect(publicUrl).toMatch(new RegExp(`^http://[\\da-f]{24}\\.localhost:${new URL(plane.url).port}$`));
  expect(deeplink).toBe(`${plane.url}/installations/${agent.id}`);

  expect((await ask(publicUrl, { path: '/live' })).status).toBe(200);
  expect((await ask(publicUrl, { path: '/api/runs' })).status).toBe(401);
  expect((await ask(publicUrl, { path: '/api/runs', token: 'anything' })).status).toBe(401);
  expect((await box.fetch('/api/runs')).status).toBe(200);
  const token = mint('box');
  expect((await ask(publicUrl, { path: '/api/runs', token })).status).toBe(200);
  const body = { model: 'echo', stream: true, messages: [{ role: 'user', content: 'say:hello' }] };
  const chat = { path: '/wire-a/v1/chat/completions', body };
  expect((await ask(publicUrl, { ...chat, token: 'anything' })).status).toBe(401);
  const answer = await ask(publicUrl, { ...chat, token });
  expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('data: [DONE]') });

  expect((await box.stop()).code).toBe(0);
  expect((await ask(publicUrl, { path: '/live' })).status).toBe(502);
});

it('a box that gets no tunnel runs, and says so in a line', async () => {
  const { plane, workspace, env } = await startAll();
  delete plane.relay;
  const box = await workspace.boot({ env });
  expect(box.payload).toMatchObject({ public_url: null, deeplink: null });
  const line = 'There is no tunnel: This control plane has no tunnels. The box runs without it.';
  await eventually(() => box.stderr().includes(line));
});
