import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bothServers } from '../../../runtime/test/_cluster.ts';
import { browser, openPage } from '../../../runtime/test/_browser.ts';
import type { Page } from '../../../runtime/test/_browser.ts';
import { describeWhen } from '../../../runtime/test/require.ts';
import { findPort } from '../_setup.ts';
import { SLOW_MS, useDeployed } from './_deployed.ts';
import { eventually, useRig } from './_setup.ts';
import type { Command, Ended, Workspace } from './_setup.ts';

const rig = useRig();
const PASSWORD = 'correct horse battery';
const HMAC_SECRET = 'h'.repeat(64);

interface Machine {
  /** Its home. */
  env: Record<string, string>;
  svc(...argv: string[]): Promise<Ended>;
  start(argv: string[], env?: Record<string, string>): Command;
}

/** Another home: nothing of one is seen from the other. */
function makeMachine(workspace: Workspace, name: string): Machine {
  const home = workspace.path(`homes/${name}`);
  mkdirSync(home, { recursive: true });
  const env = { HOME: home };
  const start = (argv: string[], more = {}) => workspace.command(argv, { env: { ...env, ...more } });
  return { env, start, svc: (...argv) => start(argv).ended };
}

interface Person {
  cookie: string;
  email: string;
}

/** What a page of the control plane would send. */
async function send(url: string, route: string, body?: object, cookie = ''): Promise<Response> {
  const [method = '', path = ''] = route.split(' ');
  return fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', origin: url, cookie },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

async function signUp(url: string, person: object): Promise<Person> {
  const { email } = person as { email: string };
  const answer = await send(url, 'POST /api/v1/auth/signup', { name: email, password: PASSWORD, ...person });
  expect([answer.status, await answer.text()]).toMatchObject([201, expect.anything()]);
  return { email, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** `svc login`, up to where it shows its code. */
async function beginLogin(machine: Machine, url: string): Promise<{ command: Command; code: string; page: string }> {
  const command = machine.start(['login', '--endpoint', url, '--json']);
  const read = () => /^\{"type":"device_code".*\}$/m.exec(command.stderr())?.[0] ?? '';
  const line = await eventually(read, { within: 30_000 });
  const { userCode, verificationUriComplete } = JSON.parse(line) as {
    userCode: string;
    verificationUriComplete: string;
  };
  return { command, code: userCode, page: verificationUriComplete };
}

/** The same, approved by who has the cookie. */
async function logIn(machine: Machine, url: string, { cookie }: Person): Promise<void> {
  const { command, code } = await beginLogin(machine, url);
  const me = (await (await send(url, 'GET /api/v1/me', undefined, cookie)).json()) as { organization: { id: string } };
  const approved = await send(
    url,
    'POST /device',
    { user_code: code, organization: me.organization.id, decision: 'approve' },
    cookie,
  );
  expect(approved.status).toBe(200);
  expect(await command.ended).toMatchObject({ code: 0 });
}

/** Clicks, as a person does, on what a page shows. */
function drive(page: Page) {
  const shows = (selector: string) =>
    page.evaluate<boolean>(`document.querySelector(${JSON.stringify(selector)})?.checkVisibility() ?? false`);
  const untilShown = (selector: string) => eventually(() => shows(selector), { within: 30_000 });
  return {
    untilShown,
    text: (selector: string) =>
      page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).textContent`),
    async fill(selector: string, text: string) {
      await untilShown(selector);
      await page.evaluate(`document.querySelector(${JSON.stringify(selector)}).value = ${JSON.stringify(text)}`);
    },
    async click(selector: string) {
      await untilShown(selector);
      await eventually(() => page.evaluate<boolean>(`!document.querySelector(${JSON.stringify(selector)}).disabled`));
      await page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
    },
  };
}

describeWhen(bothServers, 'a team', (servers) => {
  const { makeEnv, boot } = useDeployed(rig, servers);

  describeWhen(browser, 'with a browser', (chromium) => {
    it(
      'signs in from two machines, links a box, and each of its roles does there what it may',
      async () => {
        const workspace = await rig.workspace();
        const [ada, bo] = [makeMachine(workspace, 'ada'), makeMachine(workspace, 'bo')];
        const port = await findPort();
        const url = `http://localhost:${port}`;
        const startPlane = async () => {
          const command = ada.start(['plane', '--port', String(port), '--json']);
          await eventually(() => command.stdout().endsWith('\n'), { within: 60_000 });
          return { command, said: JSON.parse(command.stdout()) as object };
        };
        const first = await startPlane();
        expect(first.said).toMatchObject({ url, has_owner: false });

        // The first owner, and a terminal that is let in by its browser.
        const owner = await signUp(url, { email: 'ada@example.com', name: 'Ada', organization: 'Acme' });
        const { command, code, page: address } = await beginLogin(ada, url);
        const page = await openPage(chromium);
        const person = drive(page);
        await page.goto(address);
        await person.fill('#email', owner.email);
        await person.fill('#password', PASSWORD);
        await person.click('#login button');
        await person.untilShown('#decide');
        expect(await person.text('#facts')).toContain(code);
        await person.click('#decision button[value=approve]');
        expect(await command.ended).toMatchObject({ code: 0 });
        expect(JSON.parse((await ada.svc('whoami', '--json')).stdout)).toMatchObject({
          user: owner.email,
          organization: 'acme',
        });
        // That nobody is signed in yet is what the page asks first.
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
        const mint = async () => {
          const answer = await send(url, `POST /api/v1/installations/${id}/token`, { use: 'operate' }, owner.cookie);
          return ((await answer.json()) as { token: string }).token;
        };
        const kidOf = (token: string) =>
          (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid;
        const isLetIn = async (token: string) =>
          (await fetch(`${box.url}/api/runs`, { headers: { authorization: `Bearer ${token}` } })).status === 200;
        const before = await mint();
        expect(await isLetIn(before)).toBe(true);
        const { kid } = JSON.parse((await ada.svc('plane', 'rotate-keys', '--json')).stdout) as { kid: string };
        // Killed, the control plane is missed by nobody who has a token.
        first.command.kill('SIGKILL');
        await first.command.ended;
        expect(await isLetIn(before)).toBe(true);
        const second = await startPlane();
        expect(second.said).toMatchObject({ url, has_owner: true });
        const after = await mint();
        expect([kidOf(before) === kid, kidOf(after) === kid]).toEqual([false, true]);
        expect([await isLetIn(before), await isLetIn(after)]).toEqual([true, true]);

        // Everybody sees the runs; who may see a secret's name, and who may start something, their role says.
        const members: Record<string, { machine: Machine; person: Person; userId: string }> = {};
        for (const role of ['admin', 'member', 'approver', 'viewer']) {
          const email = `${role}@example.com`;
          const me = (await (await send(url, 'GET /api/v1/me', undefined, owner.cookie)).json()) as {
            organization: { id: string };
          };
          const invited = await send(
            url,
            `POST /api/v1/orgs/${me.organization.id}/invites`,
            { email, role },
            owner.cookie,
          );
          const { token } = (await invited.json()) as { token: string };
          const joined = await signUp(url, { email, invite: token });
          const machine = makeMachine(workspace, role);
          await logIn(machine, url, joined);
          const { userId } = JSON.parse((await machine.svc('whoami', '--json')).stdout) as { userId: string };
          members[role] = { machine, person: joined, userId };
          const can = async (...argv: string[]) => {
            const { code: ended, stdout } = await machine.svc(...argv, '--agent', id, '--json');
            return ended === 0 ? 'yes' : (JSON.parse(stdout) as { error: { code: string } }).error.code;
          };
          expect([
            role,
            await can('runs', 'list'),
            await can('secrets', 'list'),
            await can('workflows', 'start', 'greet', '--input', '{"name":"Ada"}'),
          ]).toEqual([
            role,
            'yes',
            role === 'admin' ? 'yes' : 'forbidden',
            role === 'admin' || role === 'member' ? 'yes' : 'forbidden',
          ]);
        }

        // A role that is changed is in the next token, and one who has left has none.
        const { member } = members;
        const orgs = (await (await send(url, 'GET /api/v1/me', undefined, owner.cookie)).json()) as {
          organization: { id: string };
        };
        const place = `/api/v1/orgs/${orgs.organization.id}/members/${member?.userId}`;
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
