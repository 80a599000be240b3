import { mkdirSync } from 'node:fs';
import { expect } from 'vitest';
import type { Page } from '../../../runtime/test/_browser.ts';
import { eventually } from './_setup.ts';
import type { Command, Ended, Workspace } from './_setup.ts';

// What several people do at a control plane, each at a machine of their own.

export const PASSWORD = 'correct horse battery';

export interface Machine {
  /** Its home. */
  env: Record<string, string>;
  svc(...argv: string[]): Promise<Ended>;
  start(argv: string[], env?: Record<string, string>): Command;
}

/** Another home: nothing of one is seen from the other. `homes`: where it is, which may be another folder than it works in. */
export function makeMachine(workspace: Workspace, name: string, homes = workspace): Machine {
  const home = homes.path(`homes/${name}`);
  mkdirSync(home, { recursive: true });
  const env = { HOME: home };
  const start = (argv: string[], more = {}) => workspace.command(argv, { env: { ...env, ...more } });
  return { env, start, svc: (...argv) => start(argv).ended };
}

export interface Person {
  cookie: string;
  email: string;
}

/** What a page of the control plane would send. */
export async function send(url: string, route: string, body?: object, cookie = ''): Promise<Response> {
  const [method = '', path = ''] = route.split(' ');
  return fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', origin: url, cookie },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

export async function signUp(url: string, person: object): Promise<Person> {
  const { email } = person as { email: string };
  const answer = await send(url, 'POST /api/v1/auth/signup', { name: email, password: PASSWORD, ...person });
  expect([answer.status, await answer.text()]).toMatchObject([201, expect.anything()]);
  return { email, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** `svc login`, up to where it shows its code. */
export async function beginLogin(
  machine: Machine,
  url: string,
): Promise<{ command: Command; code: string; page: string }> {
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
export async function logIn(machine: Machine, url: string, { cookie }: Person): Promise<void> {
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
export function drive(page: Page) {
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

/** The first person, by the page, as the browser shows it; answers once it is signed in. */
export async function signUpByPage(
  page: Page,
  url: string,
  person: { email: string; name: string; organization: string },
) {
  const by = drive(page);
  await page.goto(`${url}/signup`);
  for (const [name, text] of Object.entries({ ...person, password: PASSWORD })) await by.fill(`#${name}`, text);
  await by.click('#signup button');
  await eventually(() => page.evaluate<boolean>(`location.pathname !== '/signup'`), { within: 30_000 });
}

/** `svc login` of a machine, approved on its page by who is signed in there, or signs in. */
export async function approveByPage(
  page: Page,
  machine: Machine,
  url: string,
  signIn?: Pick<Person, 'email'>,
): Promise<void> {
  const { command, code, page: address } = await beginLogin(machine, url);
  const by = drive(page);
  await page.goto(address);
  if (signIn) {
    await by.fill('#email', signIn.email);
    await by.fill('#password', PASSWORD);
    await by.click('#login button');
  }
  await by.untilShown('#decide');
  expect(await by.text('#facts')).toContain(code);
  await by.click('#decision button[value=approve]');
  expect(await command.ended).toMatchObject({ code: 0 });
}

/** Of a person: who it is, and the organisation it acts in. */
export async function readMe(url: string, { cookie }: Pick<Person, 'cookie'>) {
  const answer = await send(url, 'GET /api/v1/me', undefined, cookie);
  return (await answer.json()) as { user: { id: string; email: string }; organization: { id: string; slug: string } };
}

/** One whom the owner invites, signed up and signed in at a machine of its own. */
export async function addMember(
  { workspace, url, owner }: { workspace: Workspace; url: string; owner: Person },
  role: string,
): Promise<{ machine: Machine; person: Person; userId: string }> {
  const email = `${role}@example.com`;
  const { organization } = await readMe(url, owner);
  const invited = await send(url, `POST /api/v1/orgs/${organization.id}/invites`, { email, role }, owner.cookie);
  const { token } = (await invited.json()) as { token: string };
  const person = await signUp(url, { email, invite: token });
  const machine = makeMachine(workspace, role);
  await logIn(machine, url, person);
  const { userId } = JSON.parse((await machine.svc('whoami', '--json')).stdout) as { userId: string };
  return { machine, person, userId };
}

/** What comes of a verb on the box of an agent: yes, or the code of the refusal. */
export async function can(machine: Machine, id: string, ...argv: string[]): Promise<string> {
  const { code, stdout } = await machine.svc(...argv, '--agent', id, '--json');
  return code === 0 ? 'yes' : (JSON.parse(stdout) as { error: { code: string } }).error.code;
}

/** An identity token for the box of an installation. */
export async function mintAs(url: string, id: string, { cookie }: Pick<Person, 'cookie'>): Promise<string> {
  const answer = await send(url, `POST /api/v1/installations/${id}/token`, { use: 'operate' }, cookie);
  return ((await answer.json()) as { token: string }).token;
}

export function kidOf(token: string): string {
  return (JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid;
}
