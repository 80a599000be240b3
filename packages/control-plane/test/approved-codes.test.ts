import { describe, expect, test } from 'vitest';
import { readSettings } from '../src/config.ts';
import type { FullSettings } from '../src/config.ts';
import { resetPassword } from '../src/recovery.ts';
import { decide, isGood, poll, startDevice } from './_oauth.ts';
import { addOrganization, addPerson, ask, cookieOf, logIn, PASSWORD, signUpFirst } from './_people.ts';
import type { SignedInPerson } from './_people.ts';
import { makeStore, SECRET_KEY, startPlane, STORES } from './_setup.ts';
import type { RunningPlane, StoreName } from './_setup.ts';

/** Bo, whose cookie someone else has as well, and has approved a machine with. */
async function start(store: StoreName) {
  const env = await makeStore(store);
  const plane = await startPlane({ env });
  const ada = await signUpFirst(plane);
  const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'member' });
  const own = { cookie: cookieOf(await logIn(plane, bo.email)) };
  const { device_code: code, user_code: userCode } = await startDevice(plane);
  expect((await decide(plane, bo, userCode)).status).toBe(200);
  return { env, plane, ada, bo, own, code, member: `/api/v1/orgs/${ada.organizationId}/members/${bo.userId}` };
}
type Started = Awaited<ReturnType<typeof start>>;

describe.each(STORES)('a machine that was approved, and has not come for its tokens, on %s', (store) => {
  test.each<[what: string, end: (started: Started) => Promise<unknown>]>([
    [
      'another password',
      ({ plane, own }) => {
        const body = { current: PASSWORD, password: 'another password that is long' };
        return ask(plane, 'POST /api/v1/auth/password', { ...own, body });
      },
    ],
    ['the end of all other sessions', ({ plane, own }) => ask(plane, 'DELETE /api/v1/sessions', own)],
    [
      'the end of the session that approved it',
      async ({ plane, bo, own }) => {
        const { items } = (await ask(plane, 'GET /api/v1/sessions', bo)).body;
        const { id } = items.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
        return ask(plane, `DELETE /api/v1/sessions/${id}`, own);
      },
    ],
    ['the end of the membership', ({ plane, ada, member }) => ask(plane, `DELETE ${member}`, ada)],
    [
      'a password of the operator’s',
      ({ env, bo }) => {
        const { full } = readSettings({ PLANE_SECRET_KEY: SECRET_KEY, ...env });
        return resetPassword(full as FullSettings, bo.email);
      },
    ],
  ])('is given none after %s', async (_what, end) => {
    const started = await start(store);
    const answer = (await end(started)) as { status?: number };
    expect(answer.status ?? 200).toBeLessThan(300);
    const { status, body } = await poll(started.plane, started.code);
    expect([status, body.error]).toStrictEqual([400, 'invalid_grant']);
  });

  test('is given none that is good again once the person is a member again', async () => {
    const { plane, ada, bo, code, member } = await start(store);
    const again = async (person: SignedInPerson) => {
      const path = `/api/v1/orgs/${ada.organizationId}/invites`;
      const invite = await ask(plane, `POST ${path}`, { ...ada, body: { email: bo.email, role: 'member' } });
      const accepted = await ask(plane, 'POST /api/v1/invites/accept', {
        cookie: person.cookie,
        body: { token: invite.body.token },
      });
      expect(accepted.status).toBe(200);
    };
    await ask(plane, `DELETE ${member}`, ada);
    const polled = await poll(plane, code);
    await again(bo);
    expect(polled.status).toBe(400);
    expect((await poll(plane, code)).status).toBe(400);
  });

  test('of another organisation is given its tokens still', async () => {
    const { plane, ada, bo, member } = await start(store);
    const organizationId = await addOrganization(plane, ada, bo);
    const { device_code: code, user_code: userCode } = await startDevice(plane);
    await decide(plane, { ...bo, organizationId }, userCode);
    await ask(plane, `DELETE ${member}`, ada);
    const { status, body } = await poll(plane, code);
    expect([status, status === 200 && (await isGood(plane as RunningPlane, body))]).toStrictEqual([200, true]);
  });
});
