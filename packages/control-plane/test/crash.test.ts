import { expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { ask, cookieOf, logIn, PASSWORD } from './_people.ts';
import { makeStore, STORES } from './_setup.ts';
import { canDie, Victim } from './_victim.ts';

const BO = 'bo@example.com';

describeWhen(await canDie(), 'a control plane that dies at any write', () => {
  test.each(STORES)(
    'leaves nothing half done on %s',
    async (store) => {
      const plane = new Victim(await makeStore(store));
      await plane.start();

      const person = { email: 'ada@example.com', password: PASSWORD, name: 'Ada', organization: 'Acme' };
      const signUps = await plane.dieAtEach(
        () => ask(plane, 'POST /api/v1/auth/signup', { body: person }),
        async () => expect((await ask(plane, 'GET /api/v1/auth/methods')).body.signup).toBe('open'),
      );
      // The account, the organisation, the membership, the session, the row of the log, the commit.
      expect(signUps).toBe(6);

      const login = await logIn(plane, person.email);
      const cookie = cookieOf(login);
      // Another name was taken, had an organisation been left.
      expect(login.body.organization).toMatchObject({ slug: 'acme', role: 'owner' });
      const org = `/api/v1/orgs/${login.body.organization.id}`;
      const read = async (what: string) => (await ask(plane, `GET ${org}/${what}`, { cookie })).body.items;
      const countRows = async (action: string) =>
        (await read('audit')).filter((row: { action: string }) => row.action === action).length;
      const roleOf = async (email: string) =>
        (await read('members')).find((member: { email: string }) => member.email === email)?.role;

      const invited = { email: BO, role: 'viewer' };
      const { token } = (await ask(plane, `POST ${org}/invites`, { cookie, body: invited })).body;
      const accepts = await plane.dieAtEach(
        () =>
          ask(plane, 'POST /api/v1/auth/signup', {
            body: { email: BO, password: PASSWORD, name: 'Bo', invite: token },
          }),
        async () =>
          expect([await roleOf(BO), (await read('invites')).length, await countRows('invites.accept')]).toStrictEqual([
            undefined,
            1,
            0,
          ]),
      );
      expect(accepts).toBe(7);
      expect([await roleOf(BO), (await read('invites')).length, await countRows('invites.accept')]).toStrictEqual([
        'viewer',
        0,
        1,
      ]);

      const { userId } = (await read('members')).find((member: { email: string }) => member.email === BO);
      const changes = await plane.dieAtEach(
        () => ask(plane, `PATCH ${org}/members/${userId}`, { cookie, body: { role: 'admin' } }),
        async () => expect([await roleOf(BO), await countRows('members.update')]).toStrictEqual(['viewer', 0]),
      );
      expect(changes).toBe(3);
      expect([await roleOf(BO), await countRows('members.update')]).toStrictEqual(['admin', 1]);
    },
    300_000,
  );
});
