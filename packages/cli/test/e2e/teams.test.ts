import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addInstallation, mint } from '../../../control-plane/test/_box.ts';
import { addPerson, ask as askPlane, signUpFirst } from '../../../control-plane/test/_people.ts';
import { startPlane } from '../../../control-plane/test/_setup.ts';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { browser, openPage } from '../../../runtime/test/_browser.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { findPort } from '../_setup.ts';
import { SLOW_MS, useDeployed } from './_deployed.ts';
import { eventually, useRig } from './_setup.ts';
import { addMember, approveByPage, can, kidOf, makeMachine, mintAs, readMe, send, signUp } from './_team.ts';
import type { Machine, Person } from './_team.ts';

const rig = useRig();
const HMAC_SECRET = 'h'.repeat(64);

/** Seconds that a box takes an identity token for, where the clocks agree. */
const GOOD_S = 300;

describeWhen(bothServers, 'a team', (servers) => {
  const { makeEnv, boot } = useDeployed(rig, servers);

  it(
    'has a role that is taken away in the tokens given before, and in what they stream, until those five minutes are over',
    async () => {
      let behindMs = 0;
      const plane = await startPlane({ now: () => Date.now() - behindMs });
      const ada = await signUpFirst(plane);
      const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'member' });
      const id = await addInstallation(plane, ada.cookie, 'desk');
      const box = await boot({
        env: await makeEnv({ SVC_CONTROL_PLANE_URL: plane.url, SVC_INSTALLATION_ID: id, HMAC_SECRET }),
        key: 'nobody',
      });
      const start = async (token: string) => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const answer = await box.fetch('/api/workflows/greet/start', {
          method: 'POST',
          headers,
          body: '{"name":"Bo"}',
        });
        await answer.body?.cancel();
        return answer.status;
      };
      // As if it had been given so long ago that 20 s of it are left.
      behindMs = (GOOD_S - 20) * 1_000;
      const given = await mint(plane, id, bo);
      behindMs = 0;
      expect(await start(given)).toBe(202);
      const stream = await box.fetch('/api/events', { headers: { authorization: `Bearer ${given}` } });
      expect(stream.status).toBe(200);
      const place = `PATCH /api/v1/orgs/${ada.organizationId}/members/${bo.userId}`;
      expect((await askPlane(plane, place, { ...ada, body: { role: 'viewer' } })).status).toBe(200);
      expect(await start(await mint(plane, id, bo))).toBe(403);
      // The box asks no one: what was vouched for is good until its time is over, and not a moment longer.
      expect(await start(given)).toBe(202);
      await eventually(async () => (await start(given)) === 401, { within: 40_000, every: 250 });
      expect(await stream.text()).toMatch(/event: auth_expired\ndata: \{\}\n\n$/);
      expect(await start(await mint(plane, id, bo))).toBe(403);
      expect((await box.stop()).code).toBe(0);
    },
    SLOW_MS,
  );

  describeWhen(browser, 'with a browser', (chromium) => {
    it(
      'signs in from two machines, links a box, and each of its roles does there what it may',
      async () => {
        const workspace = await rig.workspace();
        const [ada, bo] = [makeMachine(workspace, 'ada'), makeMachine(workspace, 'bo')];
        const port = await findPort();
        const url = `http://localhost:${port}`;
        const serve = async () => {
          const command = ada.start(['plane', '--port', String(port), '--json']);
          await eventually(() => command.stdout().endsWith('\n'), { within: 60_000 });
          return { command, said: JSON.parse(command.stdout()) as object };
        };
        const first = await serve();
        expect(first.said).toMatchObject({ url, has_owner: false });

        // The first owner, and a terminal that is let in by its browser.
        const owner = await signUp(url, { email: 'ada@example.com', name: 'Ada', organization: 'Acme' });
        const page = await openPage(chromium);
        await approveByPage(page, ada, url, owner);
        expect(JSON.parse((await ada.svc('whoami', '--json')).stdout)).toMatchObject({
          user: owner.email,
          organization: 'acme',
        });
        // That no one is signed in yet is what the page asks first.
        expect(page.complaints.filter((text) => !text.includes('401'))).toEqual([]);

        // A workspace that is an agent of the organisation, and its box.
        const made = await ada.svc('init', 'shop', '--no-install', '--json');
        const { installationId: id } = JSON.parse(made.stdout) as { installationId: string };
        const link = JSON.parse(readFileSync(join(workspace.root, 'shop/.svc/project.json'), 'utf8')) as object;
        expect(link).toMatchObject({ installationId: id, endpoint: url });
        const notYet = await ada.svc('runs', 'list', '--agent', id, '--json');
        expect([notYet.code, JSON.parse(notYet.stdout)]).toMatchObject([3, { error: { code: 'no_deployment' } }]);
        const env = await makeEnv({ SVC_CONTROL_PLANE_URL: url, SVC_INSTALLATION_ID: id, HMAC_SECRET });
        const box = await boot({ env, key: 'nobody' });
        const linkBox = (secret: string) =>
          ada.start(['link', id, '--url', box.url, '--image-tag', 'shop:1', '--json'], { HMAC_SECRET: secret }).ended;
        const wrong = await linkBox('w'.repeat(64));
        expect([wrong.code, JSON.parse(wrong.stdout)]).toMatchObject([1, { error: { code: 'invalid_signature' } }]);
        expect(await linkBox(HMAC_SECRET)).toMatchObject({ code: 0 });
        expect(await ada.svc('runs', 'list', '--agent', id, '--json')).toMatchObject({ code: 0 });

        // The keys rotate while the box goes on: what the earlier one has signed stays good, and so is what the next one signs.
        const mintOwn = () => mintAs(url, id, owner);
        const isLetIn = async (token: string) =>
          (await fetch(`${box.url}/api/runs`, { headers: { authorization: `Bearer ${token}` } })).status === 200;
        const before = await mintOwn();
        expect(await isLetIn(before)).toBe(true);
        const { kid } = JSON.parse((await ada.svc('plane', 'rotate-keys', '--json')).stdout) as { kid: string };
        // Killed, the control plane is missed by no one who has a token.
        first.command.kill('SIGKILL');
        await first.command.ended;
        expect(await isLetIn(before)).toBe(true);
        const second = await serve();
        expect(second.said).toMatchObject({ url, has_owner: true });
        const after = await mintOwn();
        expect([kidOf(before) === kid, kidOf(after) === kid]).toEqual([false, true]);
        expect([await isLetIn(before), await isLetIn(after)]).toEqual([true, true]);

        // Everybody sees the runs; who may see a secret's name, and who may start something, their role says.
        const members: Record<string, { machine: Machine; person: Person; userId: string }> = {};
        for (const role of ['admin', 'member', 'approver', 'viewer']) {
          const member = await addMember({ workspace, url, owner }, role);
          members[role] = member;
          expect([
            role,
            await can(member.machine, id, 'runs', 'list'),
            await can(member.machine, id, 'secrets', 'list'),
            await can(member.machine, id, 'workflows', 'start', 'greet', '--input', '{"name":"Ada"}'),
          ]).toEqual([
            role,
            'yes',
            role === 'admin' ? 'yes' : 'forbidden',
            role === 'admin' || role === 'member' ? 'yes' : 'forbidden',
          ]);
        }

        // A role that is changed is in the next token, and one who has left has none.
        const { member } = members;
        const { organization } = await readMe(url, owner);
        const place = `/api/v1/orgs/${organization.id}/members/${member?.userId}`;
        const start = () =>
          member?.machine.svc('workflows', 'start', 'greet', '--input', '{"name":"Bo"}', '--agent', id);
        expect((await send(url, `PATCH ${place}`, { role: 'viewer' }, owner.cookie)).status).toBe(200);
        expect(await start()).toMatchObject({ code: 1, stderr: expect.stringContaining('viewer') });
        expect((await send(url, `DELETE ${place}`, undefined, owner.cookie)).ok).toBe(true);
        expect((await start())?.code).toBeGreaterThan(0);

        // Another machine knows nothing of the session, and what is signed out stays out.
        expect(await bo.svc('whoami', '--json')).toMatchObject({ code: 2 });
        expect(await ada.svc('runs', 'list', '--agent', randomUUID(), '--json')).toMatchObject({ code: 3 });
        const credentials = join(ada.env.HOME ?? '', '.config/svc/credentials.json');
        expect(existsSync(credentials)).toBe(true);
        expect(await ada.svc('logout')).toMatchObject({ code: 0 });
        expect(await ada.svc('whoami', '--json')).toMatchObject({ code: 2 });
        expect((await box.stop()).code).toBe(0);
        second.command.kill('SIGTERM');
        expect(await second.command.ended).toMatchObject({ code: 0 });
      },
      SLOW_MS,
    );
  });
});
