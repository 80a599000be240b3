import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { openStore } from '../src/plane.ts';
import { sql } from '../src/store/sql.ts';
import { addInstallation } from './_box.ts';
import { decide, isGood, poll, refresh, signInCli, startDevice } from './_oauth.ts';
import { addPerson, ask, cookieOf, logIn, PASSWORD, signUpFirst } from './_people.ts';
import type { Credential, SignedInPerson } from './_people.ts';
import { makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane, StoreName } from './_setup.ts';

const start = async (store: StoreName) => {
  const env = await makeStore(store);
  const plane = await startPlane({ env });
  const ada = await signUpFirst(plane);
  const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'admin' });
  return { env, plane, ada, bo };
};

const deleteAccount = (plane: RunningPlane, { email, ...as }: Credential & { email: string }, password = PASSWORD) =>
  ask(plane, 'DELETE /api/v1/me', { ...as, body: { confirm: email, password } });

const deleteOrganization = (plane: RunningPlane, as: SignedInPerson, confirm: string) =>
  ask(plane, `DELETE /api/v1/orgs/${as.organizationId}`, { ...as, body: { confirm } });

const makeToken = async (plane: RunningPlane, as: SignedInPerson): Promise<string> =>
  (await ask(plane, 'POST /api/v1/tokens', { ...as, body: { name: 'ci', role: 'viewer' } })).body.token;

const statusOf = async (plane: RunningPlane, as: Credential) => (await ask(plane, 'GET /api/v1/me', as)).status;

const openTunnel = async (plane: RunningPlane, id: string, as: Credential): Promise<{ closed: Promise<number> }> => {
  const { body } = await ask(plane, `POST /api/v1/installations/${id}/tunnel`, as);
  const socket = new WebSocket(body.relayUrl, ['svc-tunnel', body.token]);
  await once(socket, 'open');
  return { closed: once(socket, 'close').then(([code]) => Number(code)) };
};

/** Rows of the tables that hold what belongs to someone. */
async function countRows(env: Record<string, string>): Promise<Record<string, number>> {
  const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
  const db = await openStore(full as FullSettings);
  const counts: Record<string, number> = {};
  for (const table of LEFT_OF_A_PERSON) {
    const text = { texts: [`select count(*) as count from plane_${table}`], values: [] };
    counts[table] = (await db.get<{ count: number }>(text))?.count ?? 0;
  }
  const rows = await db.all<{ action: string }>(
    sql`select action from plane_audit where organization_id is null order by id`,
  );
  await db.close();
  return { ...counts, deletions: rows.filter(({ action }) => action.endsWith('.delete')).length };
}

const LEFT_OF_A_PERSON = [
  'users',
  'organizations',
  'members',
  'invites',
  'sessions',
  'installations',
  'deployments',
  'device_codes',
  'families',
  'refresh_tokens',
  'access_tokens',
  'personal_tokens',
];

describe.each(STORES)('an account on %s', (store) => {
  test('is deleted with its sessions, tokens and tunnels; what it made for the organisation stays', async () => {
    const { plane, ada, bo } = await start(store);
    const id = await addInstallation(plane, bo.cookie);
    const [token, cli] = [await makeToken(plane, bo), await signInCli(plane, bo)];
    const invite = { email: 'cy@example.com', role: 'viewer' };
    const invited = await ask(plane, `POST /api/v1/orgs/${bo.organizationId}/invites`, { ...bo, body: invite });
    const { closed } = await openTunnel(plane, id, { token: cli.access_token });
    const gone = await deleteAccount(plane, bo);
    expect([gone.status, gone.headers.getSetCookie()[0]]).toEqual([204, expect.stringContaining('Max-Age=0')]);
    expect(await Promise.all([statusOf(plane, bo), statusOf(plane, { token }), closed])).toEqual([401, 401, 4003]);
    expect([await isGood(plane, cli), (await refresh(plane, cli.refresh_token)).body.error]).toEqual([
      false,
      'invalid_grant',
    ]);
    expect((await logIn(plane, bo.email)).body.code).toBe('wrong_credentials');
    const body = { email: 'cy@example.com', password: PASSWORD, name: 'Cy', invite: invited.body.token };
    expect((await ask(plane, 'POST /api/v1/auth/signup', { body })).body.code).toBe('invite_invalid');

    expect((await ask(plane, `GET /api/v1/installations/${id}`, ada)).status).toBe(200);
    const { items } = (await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/members`, ada)).body;
    expect(items.map(({ email }: { email: string }) => email)).toEqual([ada.email]);
    const log = await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/audit`, ada);
    expect(log.body.items.find(({ action }: { action: string }) => action === 'account.delete')).toMatchObject({
      actor: bo.email,
      target: bo.email,
    });
    // Nothing of the first keeps the person from coming back.
    await addPerson(plane, ada, { email: bo.email, role: 'viewer' });
  });

  test('stays while an organisation would have no owner without it, and after a wrong address or password', async () => {
    const { plane, ada, bo } = await start(store);
    const refused = await deleteAccount(plane, ada);
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { code: 'last_owner', details: { organizations: [{ id: ada.organizationId, slug: 'acme', name: 'Acme' }] } },
    ]);
    const cases = [
      await deleteAccount(plane, { ...bo, email: ada.email }),
      await deleteAccount(plane, bo, 'another password'),
      await ask(plane, 'DELETE /api/v1/me', { ...bo, body: { confirm: bo.email } }),
      await ask(plane, 'DELETE /api/v1/me', { token: await makeToken(plane, bo), body: { confirm: bo.email } }),
    ];
    expect(cases.map(({ body }) => body.code)).toEqual([
      'invalid_request',
      'wrong_credentials',
      'invalid_request',
      'forbidden',
    ]);
    expect(await statusOf(plane, bo)).toBe(200);
    const member = `/api/v1/orgs/${ada.organizationId}/members/${bo.userId}`;
    await ask(plane, `PATCH ${member}`, { ...ada, body: { role: 'owner' } });
    // Of two owners who go at once one stays.
    const answers = await Promise.all([deleteAccount(plane, ada), deleteAccount(plane, bo)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 409]);
  });

  test('may be deleted from a command line, and after the last one sign-up is open', async () => {
    const { env, plane, ada, bo } = await start(store);
    expect((await deleteOrganization(plane, ada, 'acme')).status).toBe(204);
    const own = (await ask(plane, 'POST /api/v1/orgs', { ...bo, body: { name: 'Own' } })).body.id;
    const cli = await signInCli(plane, { ...bo, organizationId: own });
    const away = await deleteAccount(plane, { token: cli.access_token, email: bo.email });
    expect(away.body.details.organizations).toMatchObject([{ slug: 'own' }]);
    expect((await deleteOrganization(plane, { ...bo, organizationId: own }, 'own')).status).toBe(204);
    expect(await isGood(plane, cli)).toBe(false);
    for (const person of [ada, bo]) expect((await deleteAccount(plane, person)).status).toBe(204);
    expect((await ask(plane, 'GET /api/v1/auth/methods')).body.signup).toBe('open');
    await plane.close();
    const none = Object.fromEntries(LEFT_OF_A_PERSON.map((table) => [table, 0]));
    expect(await countRows(env)).toEqual({ ...none, deletions: 4 });
  });
});

describe.each(STORES)('an organisation on %s', (store) => {
  test('is deleted with all it has, and who was in it is in none', async () => {
    const { env, plane, ada, bo } = await start(store);
    const id = await addInstallation(plane, ada.cookie);
    const [token, cli] = [await makeToken(plane, bo), await signInCli(plane, bo)];
    await ask(plane, `POST /api/v1/orgs/${ada.organizationId}/invites`, {
      ...ada,
      body: { email: 'cy@example.com', role: 'viewer' },
    });
    const { closed } = await openTunnel(plane, id, ada);
    // A machine that was let in, and has not asked for its tokens yet.
    const { device_code: device, user_code: code } = await startDevice(plane);
    await decide(plane, bo, code);
    for (const confirm of ['Acme', 'umbrella', ''])
      expect((await deleteOrganization(plane, ada, confirm)).body).toMatchObject({
        code: 'invalid_request',
        message: 'The request is not valid. "confirm": it is not "acme".',
      });
    expect((await deleteOrganization(plane, bo, 'acme')).body.code).toBe('forbidden');
    expect((await deleteOrganization(plane, ada, 'acme')).status).toBe(204);
    expect(await closed).toBe(4002);
    expect((await deleteOrganization(plane, ada, 'acme')).status).toBe(404);
    expect(await Promise.all([statusOf(plane, { token }), isGood(plane, cli)])).toEqual([401, false]);
    expect((await poll(plane, device)).body.error).toBe('invalid_grant');
    for (const person of [ada, bo]) {
      const me = await ask(plane, 'GET /api/v1/me', person);
      expect(me.body).toMatchObject({ organization: null, organizations: [] });
      for (const line of [`GET /api/v1/installations/${id}`, `POST /api/v1/installations/${id}/token`])
        expect(
          (await ask(plane, line, { ...person, ...(line.startsWith('POST') ? { body: { use: 'operate' } } : {}) }))
            .status,
        ).toBe(404);
      expect((await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/audit`, person)).status).toBe(404);
    }
    expect((await ask(plane, 'GET /api/v1/installations', ada)).body.code).toBe('no_organization');
    const again = await ask(plane, 'POST /api/v1/orgs', { ...ada, body: { name: 'Acme' } });
    expect([again.status, again.body.slug]).toEqual([201, 'acme']);
    expect(cookieOf(await logIn(plane, bo.email))).not.toBe('');
    await plane.close();
    expect(await countRows(env)).toMatchObject({
      users: 2,
      organizations: 1,
      members: 1,
      invites: 0,
      installations: 0,
      device_codes: 0,
      families: 0,
      refresh_tokens: 0,
      access_tokens: 0,
      personal_tokens: 0,
      deletions: 1,
    });
  });
});
