import { describe, expect, test } from 'vitest';
import { describeWhen, realServers } from '../../runtime/test/require.ts';
import { nameBrowser } from '../src/sessions/browser-name.ts';
import { isGood, refresh, signInCli } from './_oauth.ts';
import { addPerson, ask, cookieOf, logIn, PASSWORD, signUpFirst } from './_people.ts';
import type { Credential } from './_people.ts';
import { makeClock, makeStore, startPlane, STORES } from './_setup.ts';

interface Shown {
  id: string;
  kind: string;
  name: string | null;
  isCurrent: boolean;
}

const list = async (plane: { url: string }, credential: Credential): Promise<Shown[]> =>
  (await ask(plane, 'GET /api/v1/sessions', credential)).body.items;

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

describe.each(STORES)('sessions on %s', (store) => {
  test('are listed with what tells them apart, the one used last first, and end one by one', async () => {
    const clock = makeClock();
    const plane = await startPlane({ store, now: clock.now });
    const ada = await signUpFirst(plane);
    clock.move(60_000);
    const answer = await fetch(`${plane.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { origin: plane.url, 'content-type': 'application/json', 'user-agent': FIREFOX },
      body: JSON.stringify({ email: ada.email, password: PASSWORD }),
    });
    const firefox = cookieOf(answer);
    clock.move(60_000);
    const cli = await signInCli(plane, ada);
    clock.move(60_000);
    const { body } = await ask(plane, 'GET /api/v1/sessions', { cookie: firefox });
    const at = (minutes: number) => new Date(clock.now() - minutes * 60_000).toISOString();
    const address = expect.stringMatching(/127\.0\.0\.1|::1/);
    expect(body.items).toEqual([
      expect.objectContaining({ kind: 'browser', name: 'Firefox on Linux', isCurrent: true, seenAt: at(0), address }),
      // The one the command line was let in with.
      expect.objectContaining({ kind: 'browser', name: null, createdAt: at(3), seenAt: at(1), address }),
      expect.objectContaining({ kind: 'cli', name: 'laptop', isCurrent: false, createdAt: at(1), address }),
    ]);

    const [, first, machine] = body.items as [Shown, Shown, Shown];
    expect((await ask(plane, `DELETE /api/v1/sessions/${machine.id}`, { cookie: firefox })).status).toBe(204);
    expect([await isGood(plane, cli), (await refresh(plane, cli.refresh_token)).body.error]).toEqual([
      false,
      'invalid_grant',
    ]);
    expect((await ask(plane, `DELETE /api/v1/sessions/${machine.id}`, { cookie: firefox })).status).toBe(404);
    expect((await ask(plane, `DELETE /api/v1/sessions/${first.id}`, { cookie: firefox })).status).toBe(204);
    expect((await ask(plane, 'GET /api/v1/me', ada)).status).toBe(401);
    expect(await list(plane, { cookie: firefox })).toHaveLength(1);
    const log = await ask(plane, `GET /api/v1/orgs/${ada.organizationId}/audit`, { cookie: firefox });
    expect(log.body.items[0]).toMatchObject({ action: 'sessions.end', actor: ada.email, target: first.id });
  });

  test('all others end at once, for a browser and for a command line; those of another person never', async () => {
    const plane = await startPlane({ store });
    const ada = await signUpFirst(plane);
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'owner' });
    const [one, two] = [await signInCli(plane, ada), await signInCli(plane, ada)];
    const other = cookieOf(await logIn(plane, ada.email));
    const cli = { token: one.access_token };
    expect(await ask(plane, 'DELETE /api/v1/sessions', cli)).toMatchObject({ status: 200, body: { ended: 3 } });
    expect([await isGood(plane, one), await isGood(plane, two)]).toEqual([true, false]);
    for (const cookie of [ada.cookie, other]) expect((await ask(plane, 'GET /api/v1/me', { cookie })).status).toBe(401);
    expect(await list(plane, cli)).toEqual([expect.objectContaining({ kind: 'cli', isCurrent: true })]);
    expect(await ask(plane, 'DELETE /api/v1/sessions', cli)).toMatchObject({ body: { ended: 0 } });

    const [own] = await list(plane, bo);
    const foreign = await ask(plane, `DELETE /api/v1/sessions/${own?.id}`, cli);
    expect([foreign.status, foreign.body.message]).toEqual([404, `There is no session "${own?.id}".`]);
    expect((await ask(plane, 'GET /api/v1/me', bo)).status).toBe(200);
  });
});

test('a personal access token neither sees sessions nor ends one', async () => {
  const plane = await startPlane();
  const ada = await signUpFirst(plane);
  const { token } = (await ask(plane, 'POST /api/v1/tokens', { ...ada, body: { name: 'ci' } })).body;
  for (const line of ['GET /api/v1/sessions', 'DELETE /api/v1/sessions', 'DELETE /api/v1/sessions/some'])
    expect([line, (await ask(plane, line, { token })).status]).toEqual([line, 403]);
});

describeWhen(realServers.database, 'two control planes on one database', () => {
  test('a session that is ended at one is over at the other', async () => {
    const env = await makeStore('postgres');
    const [one, two] = [await startPlane({ env }), await startPlane({ env })];
    const ada = await signUpFirst(one);
    const cli = await signInCli(one, ada);
    expect((await ask(two, 'DELETE /api/v1/sessions', ada)).body).toEqual({ ended: 1 });
    expect(await isGood(one, cli)).toBe(false);
  });
});

test.each([
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0',
    'Edge on Windows',
  ],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 14_6) AppleWebKit/605.1 Version/18.0 Safari/605.1', 'Safari on macOS'],
  ['Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36', 'Chrome on Android'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 CriOS/140.0 Safari/604.1',
    'Chrome on iOS',
  ],
  ['curl/8.9.1', 'curl'],
  ['something else', null],
  [null, null],
])('%s is %s', (agent, name) => {
  expect(nameBrowser(agent)).toBe(name);
});
