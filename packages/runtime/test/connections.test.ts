import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, test } from 'vitest';
import { svc } from '../src/index.ts';
import type { Connection } from '../src/connections/store.ts';
import { newMasterKey } from '../src/secrets/master-key.ts';
import { CLIENT, useOAuthServer } from './_oauth-server.ts';
import { call, runWorkflow, setupBoxes, startWorkflow, toStep, finish } from './_setup.ts';
import type { TestBox } from './_setup.ts';

const boxes = setupBoxes();
const oauth = useOAuthServer();
const elsewhere = useOAuthServer();
const secretKey = newMasterKey();

interface Asked {
  id: string;
  path?: string;
  method?: string;
  body?: string;
  times?: number;
  headers?: Record<string, string>;
}

const once = <F extends object>(step: F): F => Object.assign(step, { maxRetries: 0 });

const ask = once(
  toStep('ask', async ({ id, path = '/me', body, times = 1, ...init }: Asked) => {
    const asked = Array.from({ length: times }, async () => {
      const answer = await svc
        .connection(id)
        .fetch(path, body === undefined ? init : { method: 'POST', body, ...init });
      return { status: answer.status, text: await answer.text(), url: answer.url };
    });
    return Promise.all(asked);
  }),
);
const where = toStep('where', (id: string) => svc.connection(id).signInUrl());
const leak = once(
  toStep('leak', async (id: string) => {
    await svc.connection(id).fetch('/me');
    throw new Error(`It was called with ${oauth.calls.at(-1)?.authorization}.`);
  }),
);

const fill = once(
  toStep('fill', async (most: number) => {
    const settings = JSON.stringify({});
    await svc.database.execute(
      sql`insert into svc.connections (id, provider, auth, per, settings, created_by)
        select 'full-' || n, 'notion', 'api_key', 'box', ${settings}::jsonb, 'test' from generate_series(1, ${most}) n`,
    );
  }),
);

const open = (options: object = {}) =>
  boxes.open({
    workflows: {
      ask: { run: (input: Asked) => ask(input) },
      where: { run: ({ id }: { id: string }) => where(id) },
      leak: { run: ({ id }: { id: string }) => leak(id) },
      fill: { run: ({ most }: { most: number }) => fill(most) },
      body: { run: ({ id }: { id: string }) => svc.connection(id).fetch('/me') },
    },
    options: { secretKey, ...options },
  });

let ids = 0;
const newId = () => `c-${Date.now().toString(36)}-${ids++}`;

const described = (more: object = {}) => ({
  provider: 'custom',
  auth: 'oauth2',
  baseUrl: `${oauth.url}/api/`,
  authorizationUrl: `${oauth.url}/authorize?tenant=7`,
  tokenUrl: `${oauth.url}/token`,
  clientId: CLIENT.id,
  scopes: ['read', 'write'],
  ...more,
});

async function declare(box: TestBox, more: object = {}): Promise<string> {
  const id = newId();
  const { status, body } = await call(box, 'POST /api/connections', { id, ...described(more) });
  expect([status, body]).toEqual([201, expect.objectContaining({ id })]);
  return id;
}

const put = (box: TestBox, id: string, credential: object) =>
  call(box, `PUT /api/connections/${id}/credential`, credential);
const find = async (box: TestBox, id: string) => (await call<Connection>(box, `GET /api/connections/${id}`)).body;
const use = async (box: TestBox, input: Asked) =>
  (await runWorkflow(box, 'ask', input)) as { output: { status: number; text: string }[] };
const come = async (box: TestBox, back: URL) => {
  const answer = await box.app.request(back.pathname + back.search);
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
};

/** A connection that someone has signed in for. */
async function connect(box: TestBox, more: object = {}): Promise<string> {
  const id = await declare(box, more);
  await put(box, id, { clientSecret: CLIENT.secret });
  const { body } = await call<{ url: string }>(box, `POST /api/connections/${id}/authorize`, {});
  const { status, text } = await come(box, await oauth.approve(body.url));
  expect([status, text]).toEqual([200, expect.stringContaining('You can close this window')]);
  return id;
}

beforeEach(() => [oauth, elsewhere].forEach((server) => server.reset()));

describe('a sign-in', () => {
  test('goes to the service with a challenge, comes back once, and code calls with what it brought', async () => {
    const box = await open();
    const id = await declare(box, { params: { prompt: 'consent' } });
    expect((await find(box, id)).state).toBe('needs_credential');
    const early = await call(box, `POST /api/connections/${id}/authorize`, {});
    expect([early.status, early.body]).toEqual([
      409,
      expect.objectContaining({ code: 'connection_not_ready', message: expect.stringContaining('clientSecret') }),
    ]);
    expect((await put(box, id, { clientSecret: CLIENT.secret })).body).toMatchObject({
      state: 'needs_sign_in',
      hasClientSecret: true,
    });
    const begun = await call<{ url: string }>(box, `POST /api/connections/${id}/authorize`, {});
    const url = new URL(begun.body.url);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      tenant: '7',
      prompt: 'consent',
      response_type: 'code',
      client_id: CLIENT.id,
      redirect_uri: (await find(box, id)).callbackUrl,
      scope: 'read write',
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    const back = await oauth.approve(begun.body.url);
    expect(back.pathname).toBe('/api/connect/callback');
    const done = await come(box, back);
    expect(done.status).toBe(200);
    expect(done.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await come(box, back)).toMatchObject({ status: 400, text: expect.stringContaining('finished before') });
    expect(oauth.granted).toEqual({ authorization_code: 1 });
    expect(await find(box, id)).toMatchObject({
      state: 'ready',
      problem: null,
      grantedScopes: ['read', 'write'],
      expiresAt: expect.any(String),
    });
    const { output } = await use(box, { id, path: 'me?x=1', body: 'a text' });
    expect(output).toEqual([{ status: 200, text: '{"login":"ada","sent":"a text"}', url: `${oauth.url}/api/me?x=1` }]);
    expect(oauth.calls[0]?.authorization).toMatch(/^Bearer access-/);
    expect((await call(box, `GET /api/connections/${id}`)).body.usedBy).toEqual([
      { kind: 'workflow', name: 'ask', lastUsedAt: expect.any(String) },
    ]);
    expect((await call(box, `POST /api/connections/${id}/test`, {})).body).toMatchObject({ ok: true });
  });

  test.each(['', 'state=short', `state=${'x'.repeat(43)}&code=1`, `state=${'x'.repeat(20_000)}`])(
    'that never began here is refused: %.40s',
    async (query) => {
      const box = await open();
      const answer = await box.app.request(`/api/connect/callback?${query}`);
      expect([400, 414]).toContain(answer.status);
      expect(oauth.granted).toEqual({});
    },
  );

  test('that the person refuses says so, in plain text', async () => {
    const box = await open();
    const id = await declare(box);
    await put(box, id, { clientSecret: CLIENT.secret });
    const { body } = await call<{ url: string }>(box, `POST /api/connections/${id}/authorize`, {});
    const state = new URL(body.url).searchParams.get('state') ?? '';
    const query = new URLSearchParams({ state, error: 'access_denied', error_description: '<script>no</script>' });
    const answer = await box.app.request(`/api/connect/callback?${query}`);
    const text = await answer.text();
    expect([answer.status, text]).toEqual([400, expect.stringContaining('access_denied: &lt;script>no')]);
    expect((await find(box, id)).state).toBe('needs_sign_in');
  });

  test('at a service that answers in its own way works as well', async () => {
    const box = await open();
    oauth.ways.isOdd = true;
    const id = await connect(box, { tokenAuth: 'post' });
    expect((await find(box, id)).grantedScopes).toEqual(['read', 'write']);
    expect((await use(box, { id })).output[0]?.status).toBe(200);
  });

  test('with a wrong client secret is refused by the service, and nothing is kept', async () => {
    const box = await open();
    const id = await declare(box);
    await put(box, id, { clientSecret: 'not this one' });
    const { body } = await call<{ url: string }>(box, `POST /api/connections/${id}/authorize`, {});
    const answer = await come(box, await oauth.approve(body.url));
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('invalid_client')]);
    expect((await find(box, id)).state).toBe('needs_sign_in');
  });
});

describe('a token', () => {
  test('that ends soon is refreshed once, however many ask, on two boxes', async () => {
    const [one, other] = [await open(), await open()];
    oauth.ways.expiresIn = 30;
    const id = await connect(one);
    oauth.ways.expiresIn = 3_600;
    oauth.ways.delayMs = 300;
    const results = await Promise.all([one, other].map((box) => use(box, { id, times: 20 })));
    for (const { output } of results) expect(output.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(oauth.granted).toEqual({ authorization_code: 1, refresh_token: 1 });
  });

  test('that the service does not take any more is replaced, and the call made once more', async () => {
    const box = await open();
    const id = await connect(box);
    oauth.revoke();
    expect((await use(box, { id, body: 'kept' })).output).toMatchObject([
      { status: 200, text: expect.stringContaining('kept') },
    ]);
    expect(oauth.granted).toEqual({ authorization_code: 1, refresh_token: 1 });
    expect(oauth.calls.map(({ body }) => body)).toEqual(['kept', 'kept']);
  });

  test('whose grant was revoked ends: the run, the list and the test say that a person has to sign in', async () => {
    const box = await open();
    const id = await connect(box);
    oauth.revoke(true);
    const run = await runWorkflow(box, 'ask', { id });
    expect(run.status).toBe('failed');
    expect(JSON.stringify(run.error)).toContain('Sign in again');
    expect(await find(box, id)).toMatchObject({
      state: 'revoked',
      problem: expect.stringContaining('invalid_grant: used up'),
    });
    expect((await call(box, `POST /api/connections/${id}/test`, {})).body).toMatchObject({ ok: false });
    const { body } = await call<{ url: string }>(box, `POST /api/connections/${id}/authorize`, {});
    await come(box, await oauth.approve(body.url));
    expect((await use(box, { id })).output[0]?.status).toBe(200);
  });

  test('without a refresh token ends at its time', async () => {
    const box = await open();
    Object.assign(oauth.ways, { withoutRefresh: true, expiresIn: 30 });
    const id = await connect(box);
    const run = await runWorkflow(box, 'ask', { id });
    expect(JSON.stringify(run.error)).toContain('Sign in again');
    expect((await find(box, id)).state).toBe('expired');
  });

  test('stays as it is while the service is out of order', async () => {
    const box = await open();
    oauth.ways.expiresIn = 30;
    const id = await connect(box);
    oauth.ways.down = 503;
    const run = await runWorkflow(box, 'ask', { id });
    expect(JSON.stringify(run.error)).toContain('connection_failed');
    expect((await find(box, id)).state).toBe('ready');
    oauth.ways.down = null;
    expect((await use(box, { id })).output[0]?.status).toBe(200);
  });

  test('of a client by itself is got when it is needed', async () => {
    const box = await open();
    const id = await declare(box, { auth: 'client_credentials', authorizationUrl: undefined });
    expect((await find(box, id)).state).toBe('needs_credential');
    await put(box, id, { clientSecret: CLIENT.secret });
    expect((await find(box, id)).state).toBe('ready');
    expect((await use(box, { id, times: 5 })).output.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    oauth.revoke();
    expect((await use(box, { id })).output[0]?.status).toBe(200);
    expect(oauth.granted).toEqual({ client_credentials: 2 });
  });

  test('is hidden in what a run leaves behind, and in no answer of the API', async () => {
    const box = await open();
    const id = await connect(box);
    const run = await runWorkflow(box, 'leak', { id });
    const all = [run, (await call(box, `GET /api/runs/${String(run.runId)}/steps`)).body, await find(box, id)];
    expect(JSON.stringify(all)).toContain('It was called with Bearer [hidden]');
    expect(JSON.stringify(all)).not.toMatch(/access-|refresh-|the secret of the client/);
    const activity = await call(box, 'GET /api/activity?limit=50');
    expect(JSON.stringify(activity.body)).not.toMatch(/access-|refresh-|the secret of the client|code_challenge/);
  });
});

describe('a credential', () => {
  test.each([
    ['api_key', { apiKey: 'a-key-of-a-service' }, {}, ['authorization', 'Bearer a-key-of-a-service']],
    [
      'api_key',
      { apiKey: 'a-key-of-a-service' },
      { header: 'x-own-key', prefix: '' },
      ['x-own-key', 'a-key-of-a-service'],
    ],
    [
      'basic',
      { username: 'ada', password: 'a-long-password' },
      {},
      ['authorization', 'Basic YWRhOmEtbG9uZy1wYXNzd29yZA=='],
    ],
  ])('by %s is sent as the service wants it', async (auth, credential, more, [header, value]) => {
    const box = await open();
    const id = newId();
    await call(box, 'POST /api/connections', { id, provider: 'custom', auth, baseUrl: `${oauth.url}/api`, ...more });
    const early = await runWorkflow(box, 'ask', { id });
    expect(JSON.stringify(early.error)).toContain(`PUT /api/connections/${id}/credential`);
    expect(await put(box, id, credential)).toMatchObject({ status: 200, body: { state: 'ready' } });
    await use(box, { id, headers: { authorization: 'Bearer of-somebody-else', 'x-more': '1' } });
    expect(oauth.calls.at(-1)?.headers).toMatchObject({ [header!]: value, 'x-more': '1' });
  });

  test.each([
    [{ apiKey: 'x' }, 'clientSecret, accessToken, refreshToken, expiresIn'],
    [{}, 'There is no credential in it'],
    [{ refreshToken: 'x' }, '"accessToken" is missing'],
  ])('%j of OAuth is refused', async (credential, message) => {
    const box = await open();
    const id = await declare(box);
    expect(await put(box, id, credential)).toMatchObject({
      status: 400,
      body: { code: 'connection_invalid', message: expect.stringContaining(message) },
    });
  });

  test('that was got elsewhere is a token as well, and is refreshed', async () => {
    const box = await open();
    const from = await connect(box);
    const token = oauth.calls.length;
    expect(token).toBe(0);
    await use(box, { id: from });
    const accessToken = oauth.calls.at(-1)?.authorization?.replace('Bearer ', '');
    const id = await declare(box);
    await put(box, id, { clientSecret: CLIENT.secret, accessToken, expiresIn: 3_600 });
    expect((await use(box, { id })).output[0]?.status).toBe(200);
  });

  test('goes with its connection: one of the same id begins without', async () => {
    const box = await open();
    const id = await connect(box);
    expect((await call(box, `DELETE /api/connections/${id}`)).body).toMatchObject({ id, deleted: true });
    expect((await call(box, `GET /api/connections/${id}`)).status).toBe(404);
    expect(JSON.stringify((await runWorkflow(box, 'ask', { id })).error)).toContain('connection_not_found');
    await call(box, 'POST /api/connections', { id, ...described() });
    expect(await find(box, id)).toMatchObject({ state: 'needs_credential', hasClientSecret: false });
  });
});

describe('a call', () => {
  test('to another origin than those of the service is not made', async () => {
    const box = await open();
    const id = await connect(box);
    const run = await runWorkflow(box, 'ask', { id, path: `${elsewhere.url}/open` });
    expect(JSON.stringify(run.error)).toContain('does not call');
    expect(elsewhere.calls).toEqual([]);
  });

  test('that is sent on to another origin goes there without the credential', async () => {
    const box = await open();
    const id = await connect(box);
    const to = encodeURIComponent(`${elsewhere.url}/open`);
    const headers = { 'x-second-key': 'secret', cookie: 'secret', accept: 'text/plain' };
    const { output } = await use(box, { id, path: `/away?to=${to}`, headers });
    expect(output).toMatchObject([{ status: 200, text: 'elsewhere' }]);
    expect(elsewhere.calls).toEqual([expect.objectContaining({ what: 'GET /open', authorization: undefined })]);
    expect(elsewhere.calls[0]!.headers['accept']).toBe('text/plain');
    expect(JSON.stringify(elsewhere.calls)).not.toContain('secret');
  });

  test.each(['http://169.254.169.254/latest/meta-data', 'http://[::ffff:a9fe:a9fe]/', 'file:///etc/passwd'])(
    'that is sent on to %s ends',
    async (to) => {
      const box = await open();
      const id = await connect(box);
      const run = await runWorkflow(box, 'ask', { id, path: `/away?to=${encodeURIComponent(to)}` });
      expect(JSON.stringify(run.error)).toContain('connection_failed');
    },
  );

  test('in a workflow body is refused, with where it belongs', async () => {
    const run = await runWorkflow(await open(), 'body', { id: 'x' });
    expect(JSON.stringify(run.error)).toContain('Use svc.connection in a step or a tool');
  });
});

describe('a connection', () => {
  test.each([
    [{ provider: 'nowhere' }, 'provider'],
    [{ provider: 'github', auth: 'basic' }, 'auth'],
    [{ provider: 'github' }, 'clientId'],
    [{ provider: 'custom', auth: 'api_key' }, 'baseUrl'],
    [{ provider: 'notion', clientId: 'x' }, 'clientId'],
    [{ provider: 'notion', per: 'user' }, 'per'],
    [{ provider: 'notion', baseUrl: 'ftp://example.com' }, 'baseUrl'],
    [{ provider: 'notion', baseUrl: 'https://ada:word@example.com' }, 'baseUrl'],
    [{ provider: 'notion', baseUrl: 'http://example.com' }, 'baseUrl'],
    [{ provider: 'notion', baseUrl: 'https://169.254.169.254' }, 'baseUrl'],
    [{ provider: 'notion', origins: ['https://example.com/path'] }, 'origins'],
  ])('described as %j is refused by its member "%s"', async (given, member) => {
    const { status, body } = await call(await open(), 'POST /api/connections', { id: newId(), ...given });
    expect([status, body.code, body.details]).toEqual([400, 'connection_invalid', { member }]);
    expect(JSON.stringify(body)).not.toContain('word@');
  });

  test('is made once, listed in pages, and every known service can be one', async () => {
    const box = await open();
    const { items } = (
      await call<{ items: { id: string; auth: string[]; baseUrl: string | null }[] }>(
        box,
        'GET /api/connections/providers',
      )
    ).body;
    expect(items.length).toBeGreaterThanOrEqual(20);
    const made: string[] = [];
    for (const { id: provider, auth, baseUrl } of items.filter(({ id }) => id !== 'custom')) {
      const isOAuth = auth[0] === 'oauth2';
      const id = newId();
      const { status } = await call(box, 'POST /api/connections', {
        id,
        provider,
        ...(baseUrl === null ? { baseUrl: 'https://example.com/api' } : {}),
        ...(isOAuth ? { clientId: 'x' } : {}),
      });
      expect([provider, status]).toEqual([provider, 201]);
      made.push(id);
    }
    expect((await call(box, 'POST /api/connections', { id: made[0], provider: 'notion' })).body.code).toBe(
      'connection_exists',
    );
    const listed: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await call<{ items: Connection[]; nextCursor: string | null }>(
        box,
        `GET /api/connections?limit=5${cursor}`,
      );
      listed.push(...body.items.map(({ id }) => id));
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(listed).toEqual(expect.arrayContaining(made));
    expect(listed).toEqual([...new Set(listed)].toSorted());
  });
});

describe('a connection per user', () => {
  const start = async (box: TestBox, name: string, user: string, input: object) => {
    const answer = await box.app.request(`/api/workflows/${name}/start`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-user': user },
      body: JSON.stringify(input),
    });
    const { runId } = (await answer.json()) as { runId: string };
    return finish(box, runId) as Promise<{
      output: { url: string; status: number }[] & { url: string };
      error: unknown;
    }>;
  };

  test('calls with the credential of the user of the run, and with no other', async () => {
    const box = await open();
    const id = await declare(box, { per: 'user' });
    await put(box, id, { clientSecret: CLIENT.secret });
    expect((await call(box, `POST /api/connections/${id}/authorize`, {})).body.code).toBe('connection_not_ready');
    for (const user of ['ada', 'bob']) {
      const { output } = await start(box, 'where', user, { id });
      expect((await come(box, await oauth.approve(output.url))).status).toBe(200);
    }
    for (const user of ['ada', 'bob', 'ada'])
      expect((await start(box, 'ask', user, { id })).output[0]?.status).toBe(200);
    const [ada, bob, again] = oauth.calls.map(({ authorization }) => authorization);
    expect(ada).toBe(again);
    expect(ada).not.toBe(bob);
    expect(JSON.stringify((await start(box, 'ask', 'eve', { id })).error)).toContain('signInUrl()');
    expect(JSON.stringify((await runWorkflow(box, 'ask', { id })).error)).toContain('has no end user');
    expect(await find(box, id)).toMatchObject({ state: 'ready', users: 2 });
  });
});

test('a connection that is used while it is deleted leaves no credential behind', async () => {
  const box = await open();
  oauth.ways.expiresIn = 30;
  const id = await connect(box);
  oauth.ways.delayMs = 500;
  const running = startWorkflow(box, 'ask', { id });
  const runId = await running;
  await call(box, `DELETE /api/connections/${id}`);
  await finish(box, runId);
  await call(box, 'POST /api/connections', { id, ...described() });
  expect(await find(box, id)).toMatchObject({ state: 'needs_credential', users: 0 });
});

test('a box has 500 connections and no more', async () => {
  const box = await open();
  const names = async () => (await call<{ items: Connection[] }>(box, 'GET /api/connections?limit=200')).body.items;
  for (const { id } of await names()) await call(box, `DELETE /api/connections/${id}`);
  expect((await runWorkflow(box, 'fill', { most: 499 })).status).toBe('completed');
  const make = (id: string) => call(box, 'POST /api/connections', { id, provider: 'notion' });
  expect((await make('the-last')).status).toBe(201);
  expect(await make('one-too-many')).toMatchObject({ status: 409, body: { code: 'too_many_connections' } });
});
