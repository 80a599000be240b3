import { beforeEach, describe, expect, test } from 'vitest';
import { svc } from '../src/index.ts';
import type { Connection } from '../src/connections/store.ts';
import type { Revocation } from '../src/connections/revocation.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { CLIENT, useOAuthServer } from './_oauth-server.ts';
import { call, finish, runWorkflow, setupBoxes, startWorkflow, toStep, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const oauth = useOAuthServer();
const elsewhere = useOAuthServer();
const secretKey = newMasterKey();

const ask = Object.assign(
  toStep('ask', async (id: string) => (await svc.connection(id).fetch('/me')).status),
  { maxRetries: 0 },
);
const where = toStep('where', (id: string) => svc.connection(id).signInUrl());

const open = () =>
  boxes.open({
    workflows: {
      ask: { run: ({ id }: { id: string }) => ask(id) },
      where: { run: ({ id }: { id: string }) => where(id) },
    },
    options: { secretKey },
  });

let ids = 0;
async function declare(box: TestBox, more: object = {}): Promise<string> {
  const id = `r-${Date.now().toString(36)}-${ids++}`;
  const { status, body } = await call(box, 'POST /api/connections', {
    id,
    provider: 'custom',
    auth: 'oauth2',
    title: 'The CRM',
    baseUrl: `${oauth.url}/api/`,
    authorizationUrl: `${oauth.url}/authorize`,
    tokenUrl: `${oauth.url}/token`,
    clientId: CLIENT.id,
    ...more,
  });
  expect([status, body]).toEqual([201, expect.objectContaining({ id })]);
  await call(box, `PUT /api/connections/${id}/credential`, { clientSecret: CLIENT.secret });
  return id;
}

async function come(box: TestBox, url: string): Promise<number> {
  const back = await oauth.approve(url);
  return (await box.app.request(back.pathname + back.search)).status;
}

/** A connection that someone has signed in for. */
async function connect(box: TestBox, more: object = {}): Promise<string> {
  const id = await declare(box, more);
  const { body } = await call<{ url: string }>(box, `POST /api/connections/${id}/authorize`, {});
  expect(await come(box, body.url)).toBe(200);
  return id;
}

const remove = async (box: TestBox, id: string) => {
  const { status, body } = await call<{ deleted: boolean; revocation: Revocation }>(
    box,
    `DELETE /api/connections/${id}`,
  );
  expect([status, body]).toEqual([200, { id, deleted: true, revocation: expect.anything() }]);
  return body.revocation;
};
const there = () => ({ revocationUrl: `${oauth.url}/revoke` });

beforeEach(() => [oauth, elsewhere].forEach((server) => server.reset()));

describe('a connection that is deleted', () => {
  test('has its tokens taken back by the service, the one to refresh with first, and the log of activity says so', async () => {
    const box = await open();
    const id = await connect(box, there());
    const { body } = await call<Connection>(box, `GET /api/connections/${id}`);
    expect(body.revocationUrl).toBe(`${oauth.url}/revoke`);
    const revocation = await remove(box, id);
    expect(revocation).toEqual({
      state: 'revoked',
      revoked: 1,
      left: 0,
      message: 'The CRM has revoked what it had granted.',
    });
    expect(oauth.revoked).toEqual([
      { kind: 'refresh_token', token: expect.stringMatching(/^refresh-/), isClient: true },
      { kind: 'access_token', token: expect.stringMatching(/^access-/), isClient: true },
    ]);
    expect(oauth.revoked.map(({ token }) => oauth.takes(token))).toEqual([false, false]);
    const { items } = (await call<{ items: { id: string }[] }>(box, `GET /api/activity?operation=connections.delete`))
      .body;
    const entry = (await call(box, `GET /api/activity/${items[0]?.id}`)).body;
    expect(entry).toMatchObject({ target: { id }, after: { deleted: true, revocation } });
    expect(JSON.stringify(entry)).not.toMatch(/access-|refresh-/);
  });

  test('says the client who it is in the body, where the service wants that', async () => {
    const box = await open();
    const id = await connect(box, { ...there(), tokenAuth: 'post' });
    expect((await remove(box, id)).state).toBe('revoked');
    expect(oauth.revoked.map(({ isClient }) => isClient)).toEqual([true, true]);
  });

  test('of each user has all of them taken back', async () => {
    const box = await open();
    const id = await declare(box, { ...there(), per: 'user' });
    for (let user = 0; user < 12; user++) {
      const answer = await box.app.request('/api/workflows/where/start', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-svc-user': `user-${user}` },
        body: JSON.stringify({ id }),
      });
      const { runId } = (await answer.json()) as { runId: string };
      const { output } = (await finish(box, runId)) as { output: { url: string } };
      expect(await come(box, output.url)).toBe(200);
    }
    expect(await remove(box, id)).toMatchObject({ state: 'revoked', revoked: 12, left: 0 });
    expect(new Set(oauth.revoked.map(({ token }) => token)).size).toBe(24);
    expect(oauth.revoked.some(({ token }) => oauth.takes(token))).toBe(false);
  });

  test.each([
    [503, 'it answered 503'],
    [302, 'it answered 302'],
  ])('is gone where the service answers %s, and the answer says what is left', async (status, why) => {
    const box = await open();
    const id = await connect(box, there());
    oauth.ways.revocation = status;
    expect(await remove(box, id)).toEqual({
      state: 'failed',
      revoked: 0,
      left: 1,
      message: `The CRM has not revoked 1 of 1: ${why}. Do it there.`,
    });
    expect((await call(box, `GET /api/connections/${id}`)).status).toBe(404);
    expect(box.logs).toMatchObject([{ message: 'A service has not revoked all that it had granted.' }]);
    expect(JSON.stringify(box.logs)).not.toMatch(/access-|refresh-/);
  });

  test('is gone where nothing answers at the address', async () => {
    const box = await open();
    const id = await connect(box, { revocationUrl: 'http://127.0.0.1:1/revoke' });
    const { state, message } = await remove(box, id);
    expect([state, message]).toEqual(['failed', expect.stringContaining('ECONNREFUSED')]);
  });

  test('is gone within ten seconds where the service never answers, however many there are', async () => {
    const box = await open();
    const id = await connect(box, there());
    oauth.ways.revocation = 'never';
    const start = performance.now();
    expect(await remove(box, id)).toMatchObject({ state: 'failed', message: expect.stringContaining('in time') });
    expect(performance.now() - start).toBeLessThan(13_000);
  }, 30_000);

  test('asks the service where it says that at its well-known address', async () => {
    const box = await open();
    const id = await connect(box);
    oauth.ways.metadata = true;
    expect((await remove(box, id)).state).toBe('revoked');
    expect(oauth.revoked).toHaveLength(2);
  });

  test('sends nothing to another origin that the well-known address names, and nothing where none is named', async () => {
    const box = await open();
    const [one, other] = [await connect(box), await connect(box)];
    oauth.ways.metadata = `${elsewhere.url}/revoke`;
    const message = 'The CRM names no address to take tokens back at: do it there.';
    expect(await remove(box, one)).toEqual({ state: 'not_offered', revoked: 0, left: 1, message });
    oauth.ways.metadata = false;
    expect((await remove(box, other)).state).toBe('not_offered');
    expect([oauth.revoked, elsewhere.revoked]).toEqual([[], []]);
  });

  test('whose server of tokens cannot be asked where they are taken back has failed, and says why', async () => {
    const box = await open();
    const id = await connect(box);
    oauth.ways.down = 503;
    expect(await remove(box, id)).toEqual({
      state: 'failed',
      revoked: 0,
      left: 1,
      message: `The CRM has not revoked 1 of 1: ${oauth.url} answered 503. Do it there.`,
    });
    const away = 'http://127.0.0.1:1';
    const gone = await declare(box, { tokenUrl: `${away}/token` });
    await call(box, `PUT /api/connections/${gone}/credential`, { accessToken: 'a-token-of-elsewhere' });
    const { state, left, message: why } = await remove(box, gone);
    expect([state, left, why]).toEqual([
      'failed',
      1,
      expect.stringContaining(`${away} could not be reached: ECONNREFUSED`),
    ]);
  });

  test('at a service of the same make but another host does not send the tokens to the one that is known', async () => {
    const box = await open();
    const id = await connect(box, { provider: 'gitlab', title: undefined });
    expect((await call<Connection>(box, `GET /api/connections/${id}`)).body.revocationUrl).toBeNull();
    expect((await remove(box, id)).state).toBe('not_offered');
    const known = await declare(box, { provider: 'gitlab', tokenUrl: undefined, authorizationUrl: undefined });
    const { body } = await call<Connection>(box, `GET /api/connections/${known}`);
    expect(body.revocationUrl).toBe('https://gitlab.com/oauth/revoke');
    expect((await remove(box, known)).state).toBe('none');
  });

  test('by itself is asked nothing for before it has called, and its token afterwards', async () => {
    const box = await open();
    const alone = { ...there(), auth: 'client_credentials', authorizationUrl: undefined };
    const [idle, used] = [await declare(box, alone), await declare(box, alone)];
    expect((await remove(box, idle)).state).toBe('none');
    await runWorkflow(box, 'ask', { id: used });
    expect(await remove(box, used)).toMatchObject({ state: 'revoked', revoked: 1 });
    expect(oauth.revoked).toMatchObject([{ kind: 'access_token' }]);
  });

  test('by a key says that the key is good until it is deleted there', async () => {
    const box = await open();
    const id = `k-${ids++}`;
    await call(box, 'POST /api/connections', { id, provider: 'notion' });
    await call(box, `PUT /api/connections/${id}/credential`, { apiKey: 'a-key-of-a-service' });
    expect(await remove(box, id)).toMatchObject({ state: 'not_offered', message: expect.stringContaining('Notion') });
    const refused = await call(box, 'POST /api/connections', { id, provider: 'notion', ...there() });
    expect([refused.status, refused.body.details]).toEqual([400, { member: 'revocationUrl' }]);
  });

  test('while its token is refreshed has the new one taken back too', async () => {
    const box = await open();
    oauth.ways.expiresIn = 30;
    const id = await connect(box, there());
    oauth.ways.delayMs = 3_000;
    const runId = await startWorkflow(box, 'ask', { id });
    await until(() => oauth.waiting > 0);
    await remove(box, id);
    await finish(box, runId);
    await until(() => oauth.revoked.length === 4);
    expect(oauth.revoked.some(({ token }) => oauth.takes(token))).toBe(false);
    expect(new Set(oauth.revoked.map(({ token }) => token)).size).toBe(4);
  });

  test('while a person signs in revokes what that brings', async () => {
    const box = await open();
    const id = await declare(box, there());
    const { body } = await call<{ url: string }>(box, `POST /api/connections/${id}/authorize`, {});
    oauth.ways.delayMs = 3_000;
    const coming = come(box, body.url);
    await until(() => oauth.waiting > 0);
    expect((await remove(box, id)).state).toBe('none');
    expect(await coming).toBe(400);
    expect(oauth.revoked).toHaveLength(2);
    expect(oauth.revoked.some(({ token }) => oauth.takes(token))).toBe(false);
  });
});
