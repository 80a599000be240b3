import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { openPage } from '../../../runtime/test/_browser.ts';
import type { Page } from '../../../runtime/test/_browser.ts';
import { empty, linkPackages } from './_scaffold.ts';
import { eventually } from './_setup.ts';
import type { Rig, Workspace } from './_setup.ts';
import {
  addMember,
  approveByPage,
  can,
  drive,
  kidOf,
  makeMachine,
  mintAs,
  PASSWORD,
  readMe,
  send,
  signUpByPage,
} from './_team.ts';
import type { Machine, Person } from './_team.ts';

// The way of a team from an empty folder to a box in a stack of its own, whichever control plane it is at.

export const OWNER = { email: 'ada@example.com', name: 'Ada', organization: 'Acme' };

/** Two machines: where a workspace is made, and where homes are. */
export async function makeMachines(
  rig: Rig,
): Promise<{ workspace: Workspace; homes: Workspace; ada: Machine; bo: Machine }> {
  const [workspace, homes] = [await rig.workspace(), await rig.workspace()];
  empty(workspace);
  return { workspace, homes, ada: makeMachine(workspace, 'ada', homes), bo: makeMachine(homes, 'bo') };
}

/**
 * The first person signs up in a browser, lets its terminal in there, makes a workspace of the empty folder and packages it. Answers the
 * installation it is.
 */
export async function packageFirst({
  chromium,
  workspace,
  ada,
  bo,
  url,
  path,
}: Omit<Awaited<ReturnType<typeof makeMachines>>, 'homes'> & { chromium: string; url: string; path: string }): Promise<{
  id: string;
  page: Page;
}> {
  const page = await openPage(chromium);
  await signUpByPage(page, url, OWNER);
  await approveByPage(page, ada, url);
  expect(JSON.parse((await ada.svc('whoami', '--json')).stdout)).toMatchObject({
    user: OWNER.email,
    organization: 'acme',
  });
  expect(await bo.svc('whoami', '--json')).toMatchObject({ code: 2 });
  const made = await ada.svc('init', '.', '--with', 'workflow', '--no-install', '--json');
  const { installationId: id } = JSON.parse(made.stdout) as { installationId: string };
  linkPackages(workspace);
  expect(await ada.start(['package'], { PATH: path }).ended).toMatchObject({ code: 0 });
  return { id, page };
}

/** Registers the box, which answers at `boxUrl`: with another secret than its own, in vain, and with its own. */
export async function linkBox({
  ada,
  id,
  boxUrl,
  secret,
}: Pick<Team, 'ada' | 'id' | 'boxUrl'> & { secret: string }): Promise<void> {
  const link = (value: string) =>
    ada.start(['link', id, '--url', boxUrl, '--image-tag', 'svc-agent:latest', '--json'], { HMAC_SECRET: value }).ended;
  expect(await link('w'.repeat(64))).toMatchObject({ code: 1, stdout: expect.stringContaining('invalid_signature') });
  expect(await link(secret)).toMatchObject({ code: 0 });
}

/** A box of an organisation, and who is signed in there. */
export interface Team {
  ada: Machine;
  homes: Workspace;
  /** The browser of that machine. */
  page: Page;
  id: string;
  url: string;
  boxUrl: string;
  /** Has the next key sign, or a new set of them; answers once the control plane does. */
  rotateKeys(...flags: '--revoke'[]): Promise<void>;
}

/** Five roles at the box, one of which is changed, and keys that rotate, and are revoked, while it verifies. */
export async function useTeam({ ada, homes, id, url, boxUrl, rotateKeys }: Team): Promise<void> {
  const owner = await logInAs(url, OWNER.email);
  const ask = async (token: string, path = '/api/runs', body?: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(boxUrl + path, { headers, ...(body === undefined ? {} : { method: 'POST', body }) });
    await answer.body?.cancel();
    return answer.status;
  };
  const start = (token: string) => ask(token, '/api/workflows/welcome/start', '{"name":"Bo"}');
  const list = (machine: Machine) => can(machine, id, 'runs', 'list');
  expect([await list(ada), await can(ada, id, ...WELCOME), await can(ada, id, 'secrets', 'list')]).toEqual([
    'yes',
    'yes',
    'yes',
  ]);
  const members: Record<string, Awaited<ReturnType<typeof addMember>>> = {};
  for (const role of ['admin', 'member', 'approver', 'viewer']) {
    const one = await addMember({ workspace: homes, url, owner }, role);
    members[role] = one;
    const mayStart = role === 'admin' || role === 'member';
    expect([role, await list(one.machine), await can(one.machine, id, ...WELCOME)]).toEqual([
      role,
      'yes',
      mayStart ? 'yes' : 'forbidden',
    ]);
  }

  // The next token has the other role; one that was given is good for its five minutes, as teams.test.ts sees it end.
  const { member } = members;
  if (!member) throw new Error('There is no member.');
  const given = await mintAs(url, id, member.person);
  const { organization } = await readMe(url, owner);
  const place = `/api/v1/orgs/${organization.id}/members/${member.userId}`;
  expect((await send(url, `PATCH ${place}`, { role: 'viewer' }, owner.cookie)).status).toBe(200);
  expect(await can(member.machine, id, ...WELCOME)).toBe('forbidden');
  expect([await start(given), await start(await mintAs(url, id, member.person))]).toEqual([202, 403]);

  const before = await mintAs(url, id, owner);
  const verifying = verifyAllTheTime(() => ask(before));
  await rotateKeys();
  const after = await mintAs(url, id, owner);
  expect(kidOf(after)).not.toBe(kidOf(before));
  expect(await ask(after)).toBe(200);
  const seen = await verifying.stop();
  expect([seen.size, seen.has(200)]).toEqual([1, true]);

  await rotateKeys('--revoke');
  const fresh = await mintAs(url, id, owner);
  // A box asks for keys it does not know twice a minute at most.
  await eventually(async () => (await ask(fresh)) === 200, { within: 60_000, every: 300 });
  expect([await ask(before), await ask(after)]).toEqual([401, 401]);
  expect(await list(ada)).toBe('yes');
}

/** A token of a person, a browser and a command line, each ended, and what it could do with it. */
export async function endSessions({
  ada,
  id,
  url,
  page,
}: Omit<Team, 'homes' | 'boxUrl' | 'rotateKeys'>): Promise<void> {
  const owner = await logInAs(url, OWNER.email);
  const made = await send(url, 'POST /api/v1/tokens', { name: 'ci', role: 'viewer', days: 1 }, owner.cookie);
  const { id: tokenId, token } = (await made.json()) as { id: string; token: string };
  const useToken = async () =>
    (await fetch(`${url}/api/v1/installations/${id}`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect(await useToken()).toBe(200);
  expect((await send(url, `DELETE /api/v1/tokens/${tokenId}`, undefined, owner.cookie)).ok).toBe(true);
  expect(await useToken()).toBe(401);

  const { items } = JSON.parse((await ada.svc('account', 'sessions', '--json')).stdout) as { items: SessionItem[] };
  const [chromium] = items.filter(({ name }) => name?.startsWith('Chrome'));
  await page.goto(`${url}/account`);
  await drive(page).untilShown('#page');
  expect(await ada.svc('account', 'sign-out', chromium?.id ?? '')).toMatchObject({ code: 0 });
  await page.goto(`${url}/account`);
  await drive(page).untilShown('#login');
  expect((await readMe(url, owner)).user.email).toBe(OWNER.email);

  expect(await ada.svc('logout')).toMatchObject({ code: 0 });
  expect(await ada.svc('whoami', '--json')).toMatchObject({ code: 2 });
  expect(await ada.svc('runs', 'list', '--agent', id, '--json')).toMatchObject({ code: 2 });
}

// --- internal ---

const WELCOME = ['workflows', 'start', 'welcome', '--input', '{"name":"Ada"}'];

interface SessionItem {
  id: string;
  name: string | null;
}

async function logInAs(url: string, email: string): Promise<Person> {
  const answer = await send(url, 'POST /api/v1/auth/login', { email, password: PASSWORD });
  return { email, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** Asks one time after the other until it is stopped; then which answers there were. */
function verifyAllTheTime(ask: () => Promise<number>): { stop(): Promise<Set<number>> } {
  const seen = new Set<number>();
  const over = new AbortController();
  const loop = async () => {
    while (!over.signal.aborted) {
      seen.add(await ask());
      await wait(20);
    }
  };
  const running = loop();
  return {
    async stop() {
      over.abort();
      await running;
      return seen;
    },
  };
}
