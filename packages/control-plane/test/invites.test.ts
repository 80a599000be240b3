import { describe, expect, test } from 'vitest';
import { addPerson, ask, cookieOf, logIn, PASSWORD, signUpFirst } from './_people.ts';
import type { SignedInPerson } from './_people.ts';
import { makeClock, makeStore, startPlane, STORES } from './_setup.ts';

const DAY = 24 * 3_600_000;
const BO = 'bo@example.com';

describe.each(STORES)('invites on %s', (store) => {
  test('an invited person signs up with the token, and the token is good once', async () => {
    const plane = await startPlane({ store });
    const { cookie, organizationId } = await signUpFirst(plane);
    const path = `/api/v1/orgs/${organizationId}/invites`;
    const invite = await ask(plane, `POST ${path}`, { cookie, body: { email: ' BO@example.com', role: 'member' } });
    expect([invite.status, invite.body]).toMatchObject([201, { email: BO, role: 'member' }]);
    const { token, url, ...shown } = invite.body;
    expect(url).toBe(`${plane.url}/invite#${token}`);
    expect((await ask(plane, `GET ${path}`, { cookie })).body).toStrictEqual({ items: [shown] });
    const preview = await ask(plane, 'POST /api/v1/invites/preview', { body: { token } });
    expect(preview.body).toStrictEqual({
      email: BO,
      role: 'member',
      organization: { name: 'Acme' },
      expiresAt: shown.expiresAt,
    });
    const body = { email: BO, password: PASSWORD, name: 'Bo', invite: token };
    const other = await ask(plane, 'POST /api/v1/auth/signup', { body: { ...body, email: 'eve@example.com' } });
    expect([other.status, other.body.code]).toStrictEqual([410, 'invite_invalid']);
    const joined = await ask(plane, 'POST /api/v1/auth/signup', { body });
    expect([joined.status, joined.body.organization]).toMatchObject([201, { id: organizationId, role: 'member' }]);
    for (const again of [
      await ask(plane, 'POST /api/v1/auth/signup', { body }),
      await ask(plane, 'POST /api/v1/invites/accept', { cookie: cookieOf(joined), body: { token } }),
    ])
      expect([again.status, again.body.code]).toStrictEqual([410, 'invite_invalid']);
    expect((await ask(plane, `GET ${path}`, { cookie })).body.items).toStrictEqual([]);
  });

  test('a person who has an account accepts, and acts in the other organisation once it is chosen', async () => {
    const plane = await startPlane({ store });
    const ada = await signUpFirst(plane);
    const bo = await addPerson(plane, ada, { email: BO, role: 'viewer' });
    const second = (await ask(plane, 'POST /api/v1/orgs', { cookie: ada.cookie, body: { name: 'Second' } })).body.id;
    const path = `/api/v1/orgs/${second}/invites`;
    const { token } = (await ask(plane, `POST ${path}`, { cookie: ada.cookie, body: { email: BO, role: 'admin' } }))
      .body;
    const body = { email: BO, password: PASSWORD, name: 'Bo', invite: token };
    expect((await ask(plane, 'POST /api/v1/auth/signup', { body })).body.code).toBe('account_exists');
    const foreign = await ask(plane, 'POST /api/v1/invites/accept', { cookie: ada.cookie, body: { token } });
    expect(foreign.body.code).toBe('invite_invalid');
    const accepted = await ask(plane, 'POST /api/v1/invites/accept', { cookie: bo.cookie, body: { token } });
    expect([accepted.status, accepted.body.organization]).toMatchObject([200, { id: second, role: 'admin' }]);
    const again = await ask(plane, `POST ${path}`, { cookie: ada.cookie, body: { email: BO, role: 'admin' } });
    expect([again.status, again.body.code]).toStrictEqual([409, 'already_member']);
  });

  test('a person who invites a stranger learns nothing of its account by the invite, and by a sign-up seldom', async () => {
    const clock = makeClock();
    const plane = await startPlane({ store, now: clock.now, env: { PLANE_OPEN_ORGANIZATIONS: '1' } });
    const ada = await signUpFirst(plane);
    const eve = await addPerson(plane, ada, { email: 'eve@example.com', role: 'viewer' });
    const strangers = [];
    for (let n = 0; n < 7; n++)
      strangers.push(await addPerson(plane, ada, { email: `s${n}@example.com`, role: 'member' }));
    const own = (await ask(plane, 'POST /api/v1/orgs', { ...eve, body: { name: 'Own' } })).body.id;
    const invite = async (email: string) =>
      (await ask(plane, `POST /api/v1/orgs/${own}/invites`, { ...eve, body: { email, role: 'member' } })).body.token;
    const preview = async (token: string) => {
      const { status, body } = await ask(plane, 'POST /api/v1/invites/preview', { body: { token } });
      return [status, Object.keys(body), body.role];
    };
    const tokens = [];
    for (const { email } of strangers) tokens.push(await invite(email));
    expect(await preview(tokens[0])).toStrictEqual(await preview(await invite('nobody@example.com')));
    const signUp = async (email: string, token: string) =>
      (
        await ask(plane, 'POST /api/v1/auth/signup', {
          body: { email, password: PASSWORD, name: 'Eve', invite: token },
        })
      ).body.code;
    const codes = [];
    for (const [n, token] of tokens.entries()) codes.push(await signUp(`s${n}@example.com`, token));
    expect(codes).toStrictEqual([...Array.from({ length: 5 }, () => 'account_exists'), 'rate_limited', 'rate_limited']);
    // Nor is an address without an account told from one then.
    expect(await signUp('nobody@example.com', await invite('nobody@example.com'))).toBe('rate_limited');
    clock.move(2 * 60_000);
    expect(await signUp('nobody@example.com', await invite('nobody@example.com'))).toBeUndefined();
  });

  test('an address that is invited is worth nothing to who guesses it: the link lets in', async () => {
    const plane = await startPlane({ store });
    const ada = await signUpFirst(plane);
    const path = `/api/v1/orgs/${ada.organizationId}/invites`;
    const invite = async (email: string) =>
      (await ask(plane, `POST ${path}`, { cookie: ada.cookie, body: { email, role: 'member' } })).body.token;
    const [token, eves] = [await invite(BO), await invite('eve@example.com')];
    const signUp = async (given: object) => {
      const body = { email: BO, password: PASSWORD, name: 'Bo', ...given };
      return (await ask(plane, 'POST /api/v1/auth/signup', { body })).body.code;
    };
    expect([
      await signUp({}),
      await signUp({ invite: eves }),
      await signUp({ invite: `${token.slice(0, -1)}_` }),
      await signUp({ invite: token }),
    ]).toStrictEqual(['signup_closed', 'invite_invalid', 'invite_invalid', undefined]);
  });

  test('who owns no organisation makes none, and so invites no one here', async () => {
    const env = await makeStore(store);
    const plane = await startPlane({ env });
    const ada = await signUpFirst(plane);
    const make = async ({ cookie }: { cookie: string }, at = plane) => {
      const { status, body } = await ask(at, 'POST /api/v1/orgs', { cookie, body: { name: 'Own' } });
      return [status, body.code];
    };
    const people = [];
    for (const role of ['viewer', 'approver', 'member', 'admin'])
      people.push(await addPerson(plane, ada, { email: `${role}@example.com`, role }));
    for (const person of people) expect(await make(person)).toStrictEqual([403, 'forbidden']);
    const [viewer, , , admin] = people as [SignedInPerson, SignedInPerson, SignedInPerson, SignedInPerson];
    // Nor does who was removed.
    await ask(plane, `DELETE /api/v1/orgs/${ada.organizationId}/members/${viewer.userId}`, ada);
    expect(await make(viewer)).toStrictEqual([403, 'forbidden']);
    expect(await make(ada)).toStrictEqual([201, undefined]);
    const place = `PATCH /api/v1/orgs/${ada.organizationId}/members/${admin.userId}`;
    await ask(plane, place, { ...ada, body: { role: 'owner' } });
    expect(await make(admin)).toStrictEqual([201, undefined]);
    await plane.close();
    const open = await startPlane({ env: { ...env, PLANE_OPEN_ORGANIZATIONS: '1' } });
    expect(await make(viewer, open)).toStrictEqual([201, undefined]);
  });

  test('of two who use an invite at once one is let in', async () => {
    const plane = await startPlane({ store });
    const ada = await signUpFirst(plane);
    const path = `/api/v1/orgs/${ada.organizationId}/invites`;
    const { token } = (await ask(plane, `POST ${path}`, { cookie: ada.cookie, body: { email: BO, role: 'member' } }))
      .body;
    const body = { email: BO, password: PASSWORD, name: 'Bo', invite: token };
    const signUp = () => ask(plane, 'POST /api/v1/auth/signup', { body });
    const answers = await Promise.all([signUp(), signUp()]);
    expect(answers.map(({ status }) => status).toSorted()).toStrictEqual([201, 410]);
  });

  test('who was removed from the last organisation signs in, is in none, and comes back by an invite', async () => {
    const plane = await startPlane({ store });
    const ada = await signUpFirst(plane);
    const bo = await addPerson(plane, ada, { email: BO, role: 'member' });
    const { token } = (await ask(plane, 'POST /api/v1/tokens', { cookie: bo.cookie, body: { name: 'ci' } })).body;
    expect((await ask(plane, 'GET /api/v1/me', { token })).status).toBe(200);
    const member = `/api/v1/orgs/${ada.organizationId}/members/${bo.userId}`;
    expect((await ask(plane, `DELETE ${member}`, { cookie: ada.cookie })).status).toBe(204);
    expect((await ask(plane, 'GET /api/v1/me', { token })).status).toBe(401);
    const me = await logIn(plane, BO);
    const cookie = cookieOf(me);
    expect([me.status, me.body]).toMatchObject([200, { organization: null, organizations: [] }]);
    const list = await ask(plane, 'GET /api/v1/installations', { cookie });
    expect([list.status, list.body.code]).toStrictEqual([403, 'no_organization']);
    const path = `/api/v1/orgs/${ada.organizationId}/invites`;
    const invite = await ask(plane, `POST ${path}`, { cookie: ada.cookie, body: { email: BO, role: 'viewer' } });
    await ask(plane, 'POST /api/v1/invites/accept', { cookie, body: { token: invite.body.token } });
    expect((await ask(plane, 'GET /api/v1/me', { cookie })).body.organization.role).toBe('viewer');
    expect((await ask(plane, 'GET /api/v1/me', { token })).status).toBe(401);
  });
});

describe('an invite is no longer good', () => {
  const cases = ['after 7 days', 'once revoked', 'once there is a later one', 'once who made it is no admin any more'];
  test.each(cases)('%s', async (what) => {
    const clock = makeClock();
    const plane = await startPlane({ now: clock.now });
    const ada = await signUpFirst(plane);
    const bo = await addPerson(plane, ada, { email: BO, role: 'admin' });
    const path = `/api/v1/orgs/${ada.organizationId}/invites`;
    const invite = () =>
      ask(plane, `POST ${path}`, { cookie: bo.cookie, body: { email: 'cy@example.com', role: 'admin' } });
    const { id, token } = (await invite()).body;
    if (what === 'after 7 days') clock.move(7 * DAY);
    if (what === 'once revoked') await ask(plane, `DELETE ${path}/${id}`, { cookie: ada.cookie });
    if (what === 'once there is a later one') await invite();
    if (what === 'once who made it is no admin any more')
      await ask(plane, `PATCH /api/v1/orgs/${ada.organizationId}/members/${bo.userId}`, {
        cookie: ada.cookie,
        body: { role: 'member' },
      });
    const preview = await ask(plane, 'POST /api/v1/invites/preview', { body: { token } });
    expect([preview.status, preview.body.code]).toStrictEqual([410, 'invite_invalid']);
  });
});
