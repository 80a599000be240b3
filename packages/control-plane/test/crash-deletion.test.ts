import { expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { addInstallation } from './_box.ts';
import { signInCli } from './_oauth.ts';
import { addPerson, ask, logIn, PASSWORD, signUpFirst } from './_people.ts';
import { makeStore, STORES } from './_setup.ts';
import { canDie, Victim } from './_victim.ts';

describeWhen(await canDie(), 'a control plane that dies at any write of a deletion', () => {
  test.each(STORES)(
    'has deleted nothing but sessions of command lines, and can do it still, on %s',
    async (store) => {
      const plane = new Victim(await makeStore(store));
      await plane.start();
      const ada = await signUpFirst(plane);
      const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'admin' });
      const org = `/api/v1/orgs/${ada.organizationId}`;
      const id = await addInstallation(plane, ada.cookie);
      const makeToken = async (as: { cookie: string }) =>
        (await ask(plane, 'POST /api/v1/tokens', { ...as, body: { name: 'ci', role: 'viewer' } })).body.token;
      const tokens = { ada: await makeToken(ada), bo: await makeToken(bo) };
      for (const person of [ada, bo]) await signInCli(plane, person);
      await ask(plane, `POST ${org}/invites`, { ...ada, body: { email: 'cy@example.com', role: 'viewer' } });
      /** What a deletion takes away, as someone sees it who is still there. */
      const look = async () => {
        const read = async (path: string) => (await ask(plane, `GET ${path}`, ada)).body.items;
        const members = (await read(`${org}/members`)).map(({ email }: { email: string }) => email);
        const deletions = (await read(`${org}/audit`)).filter(({ action }: { action: string }) =>
          action.endsWith('.delete'),
        );
        return {
          members: members.toSorted(),
          invites: (await read(`${org}/invites`)).length,
          deletions: deletions.length,
          installation: (await ask(plane, `GET /api/v1/installations/${id}`, ada)).status,
          tokens: [await statusOf({ token: tokens.ada }), await statusOf({ token: tokens.bo })],
        };
      };
      const statusOf = async (as: { token: string } | { cookie: string }) =>
        (await ask(plane, 'GET /api/v1/me', as)).status;
      const all = {
        members: [ada.email, bo.email],
        invites: 1,
        deletions: 0,
        installation: 200,
        tokens: [200, 200],
      };
      expect(await look()).toEqual(all);

      const accounts = await plane.dieAtEach(
        () => ask(plane, 'DELETE /api/v1/me', { ...bo, body: { confirm: bo.email, password: PASSWORD } }),
        async () => expect([await look(), await statusOf(bo)]).toEqual([all, 200]),
      );
      // The sessions of command lines, their refresh tokens; the row of the log, the codes, the account, the commit.
      expect(accounts).toBeGreaterThanOrEqual(6);
      const left = { ...all, members: [ada.email], deletions: 1, tokens: [200, 401] };
      expect([await look(), await statusOf(bo)]).toEqual([left, 401]);
      expect((await logIn(plane, bo.email)).body.code).toBe('wrong_credentials');

      const organizations = await plane.dieAtEach(
        () => ask(plane, `DELETE ${org}`, { ...ada, body: { confirm: 'acme' } }),
        async () => expect(await look()).toEqual(left),
      );
      // As above, and which organisation sessions are in.
      expect(organizations).toBeGreaterThanOrEqual(7);
      expect((await ask(plane, `GET ${org}/members`, ada)).status).toBe(404);
      expect(await statusOf({ token: tokens.ada })).toBe(401);
      // Another slug was given, had anything of the first been left.
      const again = await ask(plane, 'POST /api/v1/orgs', { ...ada, body: { name: 'Acme' } });
      expect([again.status, again.body.slug]).toEqual([201, 'acme']);
    },
    300_000,
  );
});
