import { once } from 'node:events';
import { request as send } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { WebSocket } from 'ws';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { resetPassword } from '../src/recovery.ts';
import { send as sendForm, signInCli } from './_oauth.ts';
import { addPerson, ask, cookieOf, logIn, PASSWORD, signUpFirst } from './_people.ts';
import type { Credential, SignedInPerson } from './_people.ts';
import { makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane } from './_setup.ts';

const makeInstallation = async (plane: RunningPlane) => {
  const { cookie } = await signUpFirst(plane);
  const { body } = await ask(plane, 'POST /api/v1/installations', { cookie, body: { name: 'desk' } });
  const path = `/api/v1/installations/${body.id}`;
  return { cookie, path, open: () => ask(plane, `POST ${path}/tunnel`, { cookie }) };
};

/** What the host of a tunnel answers: its name need not be known to this machine. */
const askHost = (plane: RunningPlane, publicUrl: string, path = '/live') =>
  new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const headers = { host: new URL(publicUrl).host };
    const request = send(plane.url + path, { headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.once('end', () => resolve({ status: response.statusCode, text }));
    });
    request.once('error', reject);
    request.end();
  });

const attach = async ({ relayUrl, token }: { relayUrl: string; token: string }): Promise<WebSocket> => {
  const socket = new WebSocket(relayUrl, ['svc-tunnel', token]);
  await once(socket, 'open');
  return socket;
};

test('a tunnel has a host below that of the control plane, where nothing of the control plane answers', async () => {
  const plane = await startPlane();
  const { open, path, cookie } = await makeInstallation(plane);
  const { status, body } = await open();
  expect(status).toBe(201);
  const { port } = new URL(plane.url);
  expect(body).toEqual({
    name: expect.stringMatching(/^[\da-f]{24}$/),
    token: expect.any(String),
    publicUrl: `http://${body.name}.localhost:${port}`,
    relayUrl: `ws://localhost:${port}/api/v1/tunnel`,
    expiresAt: expect.any(String),
    deeplink: `${plane.url}/studio/?installation=${path.split('/').at(-1)}`,
  });
  const page = await fetch(body.deeplink, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  expect(Date.parse(body.expiresAt) - Date.now()).toBeGreaterThan(8 * 3_600_000 - 60_000);
  for (const target of ['/live', '/api/v1/me', '/.well-known/jwks.json', '/']) {
    const answer = await askHost(plane, body.publicUrl, target);
    expect([target, answer.status, JSON.parse(answer.text).code]).toEqual([target, 502, 'tunnel_closed']);
  }
});

test('the token lets in at the relay, and no credential of a person does', async () => {
  const plane = await startPlane();
  const { open, cookie } = await makeInstallation(plane);
  const { body } = await open();
  const socket = await attach(body);
  expect(socket.protocol).toBe('svc-tunnel');
  socket.terminate();
  for (const headers of [{ cookie }, { authorization: 'Bearer none' }, {}]) {
    const refused = new WebSocket(body.relayUrl, { headers: headers as Record<string, string> });
    expect(((await once(refused, 'error')) as [Error])[0].message).toBe('Unexpected server response: 401');
  }
  const elsewhere = new WebSocket(body.relayUrl.replace('/tunnel', '/other'));
  expect(((await once(elsewhere, 'error')) as [Error])[0].message).toBe('Unexpected server response: 404');
});

test('a tunnel ends with its installation', async () => {
  const plane = await startPlane();
  const { open, path, cookie } = await makeInstallation(plane);
  const { body } = await open();
  const socket = await attach(body);
  const closed = once(socket, 'close');
  expect((await ask(plane, `DELETE ${path}`, { cookie })).status).toBe(204);
  expect((await closed)[0]).toBe(4002);
  const again = new WebSocket(body.relayUrl, ['svc-tunnel', body.token]);
  expect(((await once(again, 'error')) as [Error])[0].message).toBe('Unexpected server response: 404');
});

test('a control plane that stops says to its boxes that it goes, who may come back', async () => {
  const plane = await startPlane();
  const { open } = await makeInstallation(plane);
  const socket = await attach((await open()).body);
  const closed = once(socket, 'close');
  await plane.close();
  expect((await closed)[0]).toBe(1001);
});

test('a control plane elsewhere that has no domain for tunnels says so', async () => {
  const plane = await startPlane({ env: { SVC_PLANE_URL: 'https://studio.example.com' } });
  const installation = await signUp(plane);
  const { status, body } = await installation.open();
  expect([status, body.code]).toEqual([503, 'tunnel_unavailable']);
});

describe.each(STORES)('an open tunnel on %s', (store) => {
  const start = async () => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    const { id } = (await ask(plane, 'POST /api/v1/installations', { ...ada, body: { name: 'desk' } })).body;
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'member' });
    const { access_token: token, refresh_token: refreshToken } = await signInCli(plane, bo);
    const member = `/api/v1/orgs/${ada.organizationId}/members/${bo.userId}`;
    return { env, plane, ada, bo, id, cli: { token }, refreshToken, member };
  };
  type Started = Awaited<ReturnType<typeof start>>;
  const openAs = async ({ plane, id }: Started, credential: Credential) => {
    const { status, body } = await ask(plane, `POST /api/v1/installations/${id}/tunnel`, credential);
    expect(status).toBe(201);
    const socket = await attach(body);
    return { body, socket, closed: once(socket, 'close').then(([code]) => Number(code)) };
  };

  test.each<[title: string, end: (started: Started) => Promise<{ status: number }>]>([
    ['is removed', ({ plane, ada, member }) => ask(plane, `DELETE ${member}`, ada)],
    [
      'has a role that opens none',
      ({ plane, ada, member }) => ask(plane, `PATCH ${member}`, { ...ada, body: { role: 'viewer' } }),
    ],
    ['signs the command line out', ({ plane, refreshToken }) => sendForm(plane, 'revoke', { token: refreshToken })],
    [
      'is signed out by a session whose token was used twice',
      async ({ plane, refreshToken }) => {
        const refresh = (token: string) =>
          sendForm(plane, 'token', { grant_type: 'refresh_token', refresh_token: token });
        const { body } = await refresh(refreshToken);
        await refresh(body.refresh_token);
        return refresh(refreshToken);
      },
    ],
  ])('is cut before it is answered that whoever opened it %s', async (_title, end) => {
    // What is done every second would cut it, too.
    vi.useFakeTimers({ toFake: ['setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const started = await start();
    const { closed, socket, body } = await openAs(started, started.cli);
    const other = await openAs({ ...started, ...(await addDesk(started)) }, started.ada);
    expect((await end(started)).status).toBeLessThan(500);
    expect((await askHost(started.plane, body.publicUrl)).status).toBe(502);
    expect(await closed).toBe(4003);
    expect(socket.readyState).toBe(WebSocket.CLOSED);
    const again = new WebSocket(body.relayUrl, ['svc-tunnel', body.token]);
    expect(((await once(again, 'error')) as [Error])[0].message).toBe('Unexpected server response: 410');
    expect(other.socket.readyState).toBe(WebSocket.OPEN);
    other.socket.terminate();
  });

  test('is cut when its person has another password, beside the control plane that holds it', async () => {
    const started = await start();
    const tunnels = [await openAs(started, started.cli)];
    tunnels.push(await openAs({ ...started, ...(await addDesk(started)) }, started.bo));
    const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...started.env });
    await resetPassword(full as FullSettings, started.bo.email);
    expect(await Promise.all(tunnels.map(({ closed }) => closed))).toEqual([4003, 4003]);
  });
});

describeWhen(realServers.database, 'two control planes on one database', () => {
  test('a tunnel at one is cut by what is done at the other', async () => {
    const env = await makeStore('postgres');
    const [one, two] = [await startPlane({ env }), await startPlane({ env })];
    const ada = await signUpFirst(one);
    const bo = await addPerson(one, ada, { email: 'bo@example.com', role: 'member' });
    const open = async (person: SignedInPerson, name: string) => {
      const { id } = (await ask(one, 'POST /api/v1/installations', { ...ada, body: { name } })).body;
      const { body } = await ask(one, `POST /api/v1/installations/${id}/tunnel`, person);
      return { id, socket: await attach(body) };
    };
    const [of, kept, gone] = [await open(bo, 'a'), await open(ada, 'b'), await open(ada, 'c')];
    const closed = [once(of.socket, 'close'), once(gone.socket, 'close')];
    await ask(two, `DELETE /api/v1/orgs/${ada.organizationId}/members/${bo.userId}`, ada);
    await ask(two, `DELETE /api/v1/installations/${gone.id}`, ada);
    expect((await Promise.all(closed)).map(([code]) => code as number)).toEqual([4003, 4002]);
    expect(kept.socket.readyState).toBe(WebSocket.OPEN);
    kept.socket.terminate();
  });
});

describe('a tunnel that a page has opened', () => {
  const start = async () => {
    const plane = await startPlane();
    const ada = await signUpFirst(plane);
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'member' });
    const { id } = (await ask(plane, 'POST /api/v1/installations', { ...ada, body: { name: 'desk' } })).body;
    const { cookie } = bo;
    const other = { cookie: cookieOf(await logIn(plane, bo.email)) };
    const session = (await ask(plane, 'GET /api/v1/sessions', { cookie })).body.items.find(
      ({ isCurrent }: { isCurrent: boolean }) => isCurrent,
    ).id;
    return { plane, ada, bo, cookie, other, session, installation: `/api/v1/installations/${id}` };
  };
  type Started = Awaited<ReturnType<typeof start>>;
  const again = { email: 'bo@example.com', password: PASSWORD };
  const password = { current: PASSWORD, password: 'another password that is long' };

  test.each<[what: string, code: number, end: (started: Started) => Promise<{ status: number }>]>([
    ['a sign-out', 4003, ({ plane, cookie }) => ask(plane, 'POST /api/v1/auth/logout', { cookie })],
    ['a sign-in over it', 4003, ({ plane, cookie }) => ask(plane, 'POST /api/v1/auth/login', { cookie, body: again })],
    [
      'the end of its session',
      4003,
      ({ plane, other, session }) => ask(plane, `DELETE /api/v1/sessions/${session}`, other),
    ],
    ['the end of all others', 4003, ({ plane, other }) => ask(plane, 'DELETE /api/v1/sessions', other)],
    [
      'another password',
      4003,
      ({ plane, other }) => ask(plane, 'POST /api/v1/auth/password', { ...other, body: password }),
    ],
    [
      'the end of the account',
      4003,
      ({ plane, other }) =>
        ask(plane, 'DELETE /api/v1/me', { ...other, body: { confirm: again.email, password: PASSWORD } }),
    ],
    ['the end of its installation', 4002, ({ plane, ada, installation }) => ask(plane, `DELETE ${installation}`, ada)],
    [
      'the end of its organisation',
      4002,
      ({ plane, ada }) =>
        ask(plane, `DELETE /api/v1/orgs/${ada.organizationId}`, { ...ada, body: { confirm: 'acme' } }),
    ],
  ])('is cut before %s is answered', async (_what, code, end) => {
    // What is done every second would cut it, too.
    vi.useFakeTimers({ toFake: ['setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const started = await start();
    const { plane, installation, cookie } = started;
    const { body } = await ask(plane, `POST ${installation}/tunnel`, { cookie });
    const closed = once(await attach(body), 'close');
    expect((await end(started)).status).toBeLessThan(300);
    expect((await askHost(plane, body.publicUrl)).status).toBe(502);
    expect((await closed)[0]).toBe(code);
  });
});

/** Another installation, for a tunnel beside the first. */
async function addDesk({ plane, ada }: { plane: RunningPlane; ada: SignedInPerson }): Promise<{ id: string }> {
  return (await ask(plane, 'POST /api/v1/installations', { ...ada, body: { name: 'other' } })).body;
}

/** As a page of the control plane under its public name. */
async function signUp(plane: RunningPlane) {
  const origin = 'https://studio.example.com';
  const post = async (path: string, body: object, cookie = '') => {
    const response = await fetch(plane.url + path, {
      method: 'POST',
      headers: { origin, cookie, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const set = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
    return { status: response.status, body: (await response.json()) as Record<string, string>, cookie: set };
  };
  const person = { email: 'ada@example.com', password: 'a password that is long', name: 'Ada', organization: 'Acme' };
  const { cookie } = await post('/api/v1/auth/signup', person);
  const { body } = await post('/api/v1/installations', { name: 'desk' }, cookie);
  return { open: () => post(`/api/v1/installations/${body.id}/tunnel`, {}, cookie) };
}
