import { describe, expect, test } from 'vitest';
import { signInCli } from './_oauth.ts';
import { addPerson, ask, signUpFirst } from './_people.ts';
import { makeClock, startPlane, STORES } from './_setup.ts';

const DAY = 24 * 3_600_000;

describe.each(STORES)('personal access tokens on %s', (store) => {
  test('a token acts in one organisation, until it is revoked', async () => {
    const plane = await startPlane({ store });
    const { cookie, organizationId } = await signUpFirst(plane);
    const second = (await ask(plane, 'POST /api/v1/orgs', { cookie, body: { name: 'Second' } })).body.id;
    const made = await ask(plane, 'POST /api/v1/tokens', { cookie, body: { name: 'ci' } });
    expect([made.status, made.body]).toMatchObject([201, { name: 'ci', role: 'member', organizationId, usedAt: null }]);
    const { token, id } = made.body;
    expect(token).toMatch(/^svp_[\w-]{43}$/);
    const me = await ask(plane, 'GET /api/v1/me', { token });
    expect(me.body).toMatchObject({ via: 'token', organization: { id: organizationId, role: 'member' } });
    expect(me.body.organizations).toHaveLength(1);
    expect((await ask(plane, 'POST /api/v1/installations', { token, body: { name: 'refunds' } })).status).toBe(201);
    expect((await ask(plane, `GET /api/v1/orgs/${second}/members`, { token })).status).toBe(404);
    const [listed] = (await ask(plane, 'GET /api/v1/tokens', { cookie })).body.items;
    expect(listed).toMatchObject({ id, usedAt: expect.any(String) });
    expect(listed).not.toHaveProperty('token');
    expect((await ask(plane, `DELETE /api/v1/tokens/${id}`, { cookie })).status).toBe(204);
    const after = await ask(plane, 'GET /api/v1/me', { token });
    expect([after.status, after.body.code]).toStrictEqual([401, 'unauthorized']);
  });

  test('its role is the lower of its own and its maker’s at the moment', async () => {
    const plane = await startPlane({ store });
    const ada = await signUpFirst(plane);
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'admin' });
    const make = (role: string) => ask(plane, 'POST /api/v1/tokens', { cookie: bo.cookie, body: { name: 'ci', role } });
    expect((await make('owner')).status).toBe(403);
    const { token } = (await make('admin')).body;
    const roleNow = async () => (await ask(plane, 'GET /api/v1/me', { token })).body.organization.role;
    const setRole = (role: string) =>
      ask(plane, `PATCH /api/v1/orgs/${ada.organizationId}/members/${bo.userId}`, {
        cookie: ada.cookie,
        body: { role },
      });
    expect(await roleNow()).toBe('admin');
    await setRole('viewer');
    expect(await roleNow()).toBe('viewer');
    await setRole('owner');
    expect(await roleNow()).toBe('admin');
  });

  test('it ends when its days are over, of which it has at most 90', async () => {
    const clock = makeClock();
    const plane = await startPlane({ store, now: clock.now });
    const { cookie } = await signUpFirst(plane);
    const make = (days: number) => ask(plane, 'POST /api/v1/tokens', { cookie, body: { name: 'ci', days } });
    expect((await make(91)).status).toBe(400);
    const { token } = (await make(90)).body;
    clock.move(90 * DAY - 1);
    expect((await ask(plane, 'GET /api/v1/me', { token })).status).toBe(200);
    clock.move(1);
    expect((await ask(plane, 'GET /api/v1/me', { token })).status).toBe(401);
  });
});

test('a token does nothing that outlasts it, whatever its role', async () => {
  const plane = await startPlane();
  const ada = await signUpFirst(plane);
  const made = await ask(plane, 'POST /api/v1/tokens', { cookie: ada.cookie, body: { name: 'ci', role: 'owner' } });
  const { token, id } = made.body;
  const org = `/api/v1/orgs/${ada.organizationId}`;
  const lines: [string, object?][] = [
    ['POST /api/v1/orgs', { name: 'x' }],
    [`PATCH ${org}`, { name: 'x' }],
    [`POST ${org}/invites`, { email: 'bo@example.com', role: 'owner' }],
    [`PATCH ${org}/members/${ada.userId}`, { role: 'admin' }],
    [`DELETE ${org}/members/${ada.userId}`],
    ['POST /api/v1/invites/accept', { token: 'x' }],
    ['GET /api/v1/tokens'],
    ['POST /api/v1/tokens', { name: 'x' }],
    [`DELETE /api/v1/tokens/${id}`],
    ['POST /api/v1/session/organization', { organization: ada.organizationId }],
  ];
  for (const [line, body] of lines) {
    const answer = await ask(plane, line, { token, body });
    expect([line, answer.status, answer.body.code]).toStrictEqual([line, 403, 'forbidden']);
  }
});

test('tokens are their maker’s own: others neither see nor end them', async () => {
  const plane = await startPlane();
  const ada = await signUpFirst(plane);
  const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'member' });
  const { id } = (await ask(plane, 'POST /api/v1/tokens', { cookie: bo.cookie, body: { name: 'ci' } })).body;
  expect((await ask(plane, 'GET /api/v1/tokens', { cookie: ada.cookie })).body.items).toStrictEqual([]);
  expect((await ask(plane, `DELETE /api/v1/tokens/${id}`, { cookie: ada.cookie })).status).toBe(404);
});

test('a command line makes none, which would outlast it; it shows them and ends them', async () => {
  const plane = await startPlane();
  const ada = await signUpFirst(plane);
  const { id } = (await ask(plane, 'POST /api/v1/tokens', { cookie: ada.cookie, body: { name: 'ci' } })).body;
  const cli = { token: (await signInCli(plane, ada)).access_token };
  const made = await ask(plane, 'POST /api/v1/tokens', { ...cli, body: { name: 'mine' } });
  expect([made.status, made.body.code, made.body.message]).toStrictEqual([
    403,
    'forbidden',
    'A token is made by a person in a browser. Sign in there.',
  ]);
  expect((await ask(plane, 'GET /api/v1/tokens', cli)).body.items).toMatchObject([{ id }]);
  expect((await ask(plane, `DELETE /api/v1/tokens/${id}`, cli)).status).toBe(204);
});
