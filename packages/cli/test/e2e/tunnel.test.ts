import { writeFileSync } from 'node:fs';
import { request as send } from 'node:http';
import { expect, it } from 'vitest';
import { addInstallation, mint } from '../../../control-plane/test/_box.ts';
import { addPerson, ask as askPlane, signUpFirst } from '../../../control-plane/test/_people.ts';
import { startPlane } from '../../../control-plane/test/_setup.ts';
import { makeHome } from '../_home.ts';
import { logIn } from '../_plane.ts';
import { eventually, useRig } from './_setup.ts';

const rig = useRig();

/** A control plane with an organisation of two, and a workspace of the second, who is signed in, that is linked. */
async function startAll(role = 'member') {
  const plane = await startPlane();
  const ada = await signUpFirst(plane);
  const bo = await addPerson(plane, ada, { email: 'bo@example.com', role });
  const id = await addInstallation(plane, ada.cookie, 'desk');
  const home = makeHome();
  const env = { HOME: home.HOME ?? '', SVC_CONTROL_PLANE_URL: plane.url };
  expect((await logIn(plane, bo, { ...home, ...env })).exitCode).toBe(0);
  const workspace = await rig.workspace();
  workspace.write('.svc/project.json', JSON.stringify({ endpoint: plane.url, installationId: id, name: 'desk' }));
  return { plane, ada, bo, id, workspace, env };
}

interface Asked {
  path: string;
  token?: string;
  body?: object;
  /** Called with each part of the answer. */
  onText?(): void;
}

/** What comes of a request to the public address, chunk by chunk: the name need not be known to this machine. */
async function ask(publicUrl: string, { path, token, body, onText }: Asked) {
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
      response.on('data', (chunk) => {
        text += String(chunk);
        onText?.();
      });
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode, text }));
    });
    request.once('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Another relay program: it has what it is told in its environment, and nothing else. */
const PROGRAM = `#!${process.execPath}
const { SVC_TUNNEL_RELAY: relayUrl, SVC_TUNNEL_TOKEN: token, SVC_TUNNEL_LOCAL_PORT: port } = process.env;
const say = (line) => console.error('relay program: ' + line);
import(${JSON.stringify(new URL('../../dist/index.mjs', import.meta.url).href)})
  .then(({ keepAttached }) => keepAttached({ relayUrl, token, port: Number(port), publicUrl: '', say }))
  .then(() => say('attached as ' + process.pid + ', with a secret: ' + ('HMAC_SECRET' in process.env)));
`;

const CHAT = '/wire-a/v1/chat/completions';
const chat = (content: string) => ({ model: 'echo', stream: true, messages: [{ role: 'user', content }] });

it('svc dev of a linked workspace is reached under its public address, by those the control plane vouches for', async () => {
  const { plane, ada, id, workspace, env } = await startAll();
  const box = await workspace.boot({ env });
  const { public_url: publicUrl, deeplink } = box.payload as unknown as Record<string, string>;
  if (!publicUrl) throw new Error(`There is no public address: ${box.stderr()}`);
  expect(publicUrl).toMatch(new RegExp(`^http://[\\da-f]{24}\\.localhost:${new URL(plane.url).port}$`));
  expect(deeplink).toBe(`${plane.url}/studio/?installation=${id}`);

  expect((await ask(publicUrl, { path: '/live' })).status).toBe(200);
  expect((await ask(publicUrl, { path: '/api/runs' })).status).toBe(401);
  expect((await ask(publicUrl, { path: '/api/runs', token: 'anything' })).status).toBe(401);
  expect((await box.fetch('/api/runs')).status).toBe(200);
  const token = await mint(plane, id, ada);
  expect((await ask(publicUrl, { path: '/api/runs', token })).status).toBe(200);
  const foreign = await mint(plane, await addInstallation(plane, ada.cookie, 'other'), ada);
  expect((await ask(publicUrl, { path: '/api/runs', token: foreign })).status).toBe(401);
  expect((await ask(publicUrl, { path: CHAT, body: chat('say:hello'), token: 'anything' })).status).toBe(401);
  const answer = await ask(publicUrl, { path: CHAT, body: chat('say:hello'), token });
  expect(answer).toMatchObject({ status: 200, text: expect.stringContaining('data: [DONE]') });

  expect((await box.stop()).code).toBe(0);
  expect((await ask(publicUrl, { path: '/live' })).status).toBe(502);
});

it('another relay program carries the tunnel of svc dev, is started again when it dies, and ends with it', async () => {
  const { plane, ada, id, workspace, env } = await startAll();
  const bin = workspace.path('relay.cjs');
  writeFileSync(bin, PROGRAM, { mode: 0o755 });
  const box = await workspace.boot({ env: { ...env, SVC_FRPC_BIN: bin, HMAC_SECRET: 'h'.repeat(64) } });
  const { public_url: publicUrl } = box.payload as unknown as Record<string, string>;
  if (!publicUrl) throw new Error(`There is no public address: ${box.stderr()}`);
  const token = await mint(plane, id, ada);
  const listPrograms = () =>
    [...box.stderr().matchAll(/attached as (\d+), with a secret: (\w+)/g)].map(([, pid, hasSecret]) => ({
      pid: Number(pid),
      hasSecret,
    }));
  const chatThrough = async (count: number) => {
    await eventually(() => listPrograms().length === count, { within: 60_000 });
    expect(await ask(publicUrl, { path: CHAT, body: chat('say:hello'), token })).toMatchObject({
      status: 200,
      text: expect.stringContaining('data: [DONE]'),
    });
    expect((await ask(publicUrl, { path: '/api/runs' })).status).toBe(401);
  };
  await chatThrough(1);
  process.kill(listPrograms()[0]?.pid ?? 0, 'SIGKILL');
  await chatThrough(2);
  expect(listPrograms().map(({ hasSecret }) => hasSecret)).toEqual(['false', 'false']);
  const { pid = 0 } = listPrograms()[1] ?? {};
  expect((await box.stop()).code).toBe(0);
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  expect((await ask(publicUrl, { path: '/live' })).status).toBe(502);
});

it('the tunnel of a member who is removed is cut, with what streams through it; svc dev says so and goes on', async () => {
  const { plane, ada, bo, id, workspace, env } = await startAll();
  const box = await workspace.boot({ env });
  const { public_url: publicUrl } = box.payload as unknown as Record<string, string>;
  if (!publicUrl) throw new Error(`There is no public address: ${box.stderr()}`);
  const token = await mint(plane, id, ada);
  let removal: Promise<{ status: number }> | undefined;
  const onText = () => {
    removal ??= askPlane(plane, `DELETE /api/v1/orgs/${ada.organizationId}/members/${bo.userId}`, ada);
  };
  // Takes minutes to be said.
  const streamed = ask(publicUrl, { path: CHAT, body: chat('chunks:1000; delay:300'), token, onText });
  await expect(streamed).rejects.toThrow(/aborted|socket hang up/);
  expect((await removal)?.status).toBe(204);
  expect((await ask(publicUrl, { path: '/live' })).status).toBe(502);
  await eventually(() => box.stderr().includes('answers no more: the person who opened it is signed out'));
  expect((await box.fetch('/api/runs')).status).toBe(200);
  expect((await box.stop()).code).toBe(0);
});

it('a box that gets no tunnel runs, and says so in a line', async () => {
  const { workspace, env } = await startAll('viewer');
  const box = await workspace.boot({ env });
  expect(box.payload).toMatchObject({ public_url: null, deeplink: null });
  await eventually(() => /There is no tunnel: The role "viewer" .* The box runs without it\./.test(box.stderr()));
});
