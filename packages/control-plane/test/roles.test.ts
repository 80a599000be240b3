import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Route } from '../src/http/route.ts';
import { ROLES } from '../src/roles.ts';
import type { Role } from '../src/roles.ts';
import { startProvider } from './_oidc-provider.ts';
import { addPerson, ask, logIn, PASSWORD, signUpFirst } from './_people.ts';
import type { SignedInPerson } from './_people.ts';
import { startDevice } from './_oauth.ts';
import { startPlane } from './_setup.ts';
import type { RunningPlane } from './_setup.ts';

/** What a request may name of an organisation. */
interface World {
  organization: string;
  member: string;
  installation: string;
  invite: string;
  /** Of whoever calls, as is the next. */
  token: string;
  session: string;
  /** Of a machine that asks to be signed in. */
  code?: string;
}

interface Sample {
  params?: Record<string, keyof World>;
  query?(world: World): string;
  body?(world: World): object;
}

const ofOrganization = { id: 'organization' } as const;
const ofInstallation = { id: 'installation' } as const;

/** How each route is asked, so that what it answers is about the role alone. A new route needs a line, and a row in the docs. */
const SAMPLES: Record<string, Sample> = {
  'me.get': {},
  'sessions.list': {},
  'sessions.end': { params: { id: 'session' } },
  'sessions.clear': {},
  // What confirms it is wrong, so that it stays.
  'me.delete': { body: () => ({ confirm: 'nobody@example.com', password: PASSWORD }) },
  'organizations.delete': { params: ofOrganization, body: () => ({ confirm: '' }) },
  'session.organization': { body: ({ organization }) => ({ organization }) },
  'auth.password': { body: () => ({ current: PASSWORD, password: PASSWORD }) },
  'oidc.link': { body: () => ({}) },
  'organizations.list': {},
  'organizations.create': { body: () => ({ name: 'More' }) },
  'organizations.rename': { params: ofOrganization, body: () => ({ name: 'Acme' }) },
  'members.list': { params: ofOrganization },
  'members.update': { params: { ...ofOrganization, userId: 'member' }, body: () => ({ role: 'viewer' }) },
  'members.remove': { params: { ...ofOrganization, userId: 'member' } },
  'invites.list': { params: ofOrganization },
  'invites.create': { params: ofOrganization, body: () => ({ email: 'new@example.com', role: 'viewer' }) },
  'invites.revoke': { params: { ...ofOrganization, inviteId: 'invite' } },
  'invites.accept': { body: () => ({ token: 'none' }) },
  'audit.list': { params: ofOrganization },
  'installations.list': {},
  'installations.create': { body: () => ({ name: randomUUID() }) },
  'installations.get': { params: ofInstallation },
  'installations.rename': { params: ofInstallation, body: () => ({ name: randomUUID() }) },
  'installations.delete': { params: ofInstallation },
  'device.get': { query: ({ code }) => `?user_code=${code}` },
  'device.decide': {
    body: ({ organization, code }) => ({ user_code: code, organization, decision: 'approve' }),
  },
  'deployments.register': {
    params: ofInstallation,
    body: () => ({ url: 'http://127.0.0.1:1', hmacSecret: 'x', imageTag: 'x' }),
  },
  'installations.tunnel': { params: ofInstallation },
  'identity.mint': { params: ofInstallation, body: () => ({ use: 'operate' }) },
  'tokens.list': {},
  'tokens.create': { body: ({ organization }) => ({ name: 'ci', role: 'viewer', organization }) },
  'tokens.revoke': { params: { id: 'token' } },
};

const DOCS = new URL('../../../docs/design/control-plane.md', import.meta.url);

test('every role may do at every route what the table of the docs says', async () => {
  const { plane, people, own } = await makeTwo();
  const table: Record<string, string[]> = {};
  for (const one of routesOfPeople(plane)) {
    const cells: string[] = [];
    for (const role of ROLES) {
      const { status } = await askAs(plane, one, people[role], await own(people[role]));
      expect([one.id, role, status]).not.toContain(404);
      cells.push(status === 403 ? 'no' : 'yes');
    }
    table[one.id] = cells;
  }
  expect(readTable()).toStrictEqual(table);
});

test('to every role what is foreign is as what is not there', async () => {
  const { plane, people, foreign } = await makeTwo();
  const absent: World = { organization: '', member: '', installation: '', invite: '', token: '', session: '' };
  for (const name of Object.keys(absent) as (keyof World)[]) absent[name] = randomUUID();
  for (const one of routesOfPeople(plane)) {
    const { params, body } = SAMPLES[one.id] ?? {};
    if (!params && !/organization/.test(String(body))) continue;
    for (const role of ROLES) {
      const answers = await Promise.all(
        [foreign, absent].map(async (world) => {
          const { status, body: said } = await askAs(plane, one, people[role], world);
          return [status, said.code, String(said.message).replace(/"[\da-f-]{36}"/g, '"…"'), said.details];
        }),
      );
      expect([one.id, role, answers[0]]).toStrictEqual([one.id, role, answers[1]]);
      expect([one.id, role, answers[0]?.[0]]).toStrictEqual([one.id, role, 404]);
    }
  }
});

test('who is no owner makes none, changes none and removes none', async () => {
  const { plane, people, own } = await makeTwo();
  const { admin, owner, member } = people;
  const { organization, member: spare } = await own(admin);
  const org = `/api/v1/orgs/${organization}`;
  const lines: [string, object?][] = [
    [`PATCH ${org}/members/${admin.userId}`, { role: 'owner' }],
    [`PATCH ${org}/members/${spare}`, { role: 'owner' }],
    [`PATCH ${org}/members/${owner.userId}`, { role: 'viewer' }],
    [`DELETE ${org}/members/${owner.userId}`],
    [`POST ${org}/invites`, { email: 'new@example.com', role: 'owner' }],
    ['POST /api/v1/tokens', { name: 'ci', role: 'owner' }],
  ];
  for (const [line, body] of lines)
    expect([line, (await ask(plane, line, { cookie: admin.cookie, body })).status]).toStrictEqual([line, 403]);
  expect((await ask(plane, `DELETE ${org}/members/${member.userId}`, { cookie: member.cookie })).status).toBe(204);
});

test('of two owners who leave at once one stays', async () => {
  for (let round = 0; round < 3; round++) {
    const plane = await startPlane({ store: process.env.SVC_TEST_DATABASE_URL ? 'postgres' : 'sqlite' });
    const ada = await signUpFirst(plane);
    const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'owner' });
    const leave = ({ cookie, userId }: SignedInPerson) =>
      ask(plane, `DELETE /api/v1/orgs/${ada.organizationId}/members/${userId}`, { cookie });
    const answers = await Promise.all([leave(ada), leave(bo)]);
    expect(answers.map(({ status }) => status).toSorted()).toStrictEqual([204, 409]);
  }
});

// --- internal ---

function routesOfPeople({ routes }: RunningPlane): Route[] {
  const all = routes.filter(({ access }) => access === 'person');
  const without = all.filter(({ id }) => !SAMPLES[id]).map(({ id }) => id);
  if (without.length > 0) throw new Error(`No line of SAMPLES asks ${without.join(', ')}.`);
  return all;
}

async function askAs(plane: RunningPlane, { id, method, path }: Route, { cookie }: SignedInPerson, given: World) {
  const { params = {}, query, body } = SAMPLES[id] ?? {};
  const code = id.startsWith('device.') ? { code: (await startDevice(plane)).user_code } : {};
  const world = { ...given, ...code };
  const filled = path.replace(/:(\w+)/g, (_, name: string) => String(world[params[name] ?? 'organization']));
  return ask(plane, `${method} ${filled}${query?.(world) ?? ''}`, { cookie, body: body?.(world) });
}

interface Two {
  plane: RunningPlane;
  /** Of "Acme". */
  people: Record<Role, SignedInPerson>;
  /** Of "Acme", with what a request may delete made again. */
  own(caller: SignedInPerson): Promise<World>;
  /** Of an organisation of which no person of "Acme" is a member. */
  foreign: World;
}

async function makeTwo(): Promise<Two> {
  const { env } = await startProvider();
  const plane = await startPlane({ env: { ...env, PLANE_PASSWORD_SIGNUP: '1' } });
  const owner = await signUpFirst(plane);
  const { cookie } = owner;
  const other = (await ask(plane, 'POST /api/v1/orgs', { cookie, body: { name: 'Other' } })).body.id;
  const zed = await addPerson(plane, { cookie, organizationId: other }, { email: 'zed@example.com', role: 'owner' });
  await ask(plane, `DELETE /api/v1/orgs/${other}/members/${owner.userId}`, { cookie });
  const people = { owner } as Record<Role, SignedInPerson>;
  for (const role of ROLES.slice(1))
    people[role] = await addPerson(plane, owner, { email: `${role}@example.com`, role });
  const spare = await addPerson(plane, owner, { email: 'spare@example.com', role: 'viewer' });
  const make = async (by: SignedInPerson, caller: SignedInPerson): Promise<World> => {
    const org = `/api/v1/orgs/${by.organizationId}`;
    const as = (body: object) => ({ cookie: by.cookie, body });
    const installation = await ask(plane, 'POST /api/v1/installations', as({ name: randomUUID() }));
    const invite = await ask(plane, `POST ${org}/invites`, as({ email: 'some@example.com', role: 'viewer' }));
    const token = await ask(plane, 'POST /api/v1/tokens', {
      cookie: caller.cookie,
      body: { name: 'ci', role: 'viewer', organization: by.organizationId },
    });
    await logIn(plane, caller.email);
    const sessions = await ask(plane, 'GET /api/v1/sessions', { cookie: caller.cookie });
    const session = sessions.body.items.find(({ isCurrent }: { isCurrent: boolean }) => !isCurrent);
    return {
      organization: by.organizationId,
      member: by === zed ? zed.userId : spare.userId,
      installation: installation.body.id,
      invite: invite.body.id,
      token: token.body.id,
      session: session.id,
    };
  };
  return {
    plane,
    people,
    async own(caller) {
      const again = { email: spare.email, role: 'viewer' };
      const invite = await ask(plane, `POST /api/v1/orgs/${owner.organizationId}/invites`, { cookie, body: again });
      if (invite.status === 201)
        await ask(plane, 'POST /api/v1/invites/accept', { cookie: spare.cookie, body: { token: invite.body.token } });
      const world = await make(owner, caller);
      for (const { id } of (await ask(plane, 'GET /api/v1/tokens', { cookie: caller.cookie })).body.items)
        if (id !== world.token) await ask(plane, `DELETE /api/v1/tokens/${id}`, { cookie: caller.cookie });
      return world;
    },
    foreign: await make(zed, zed),
  };
}

/** `| installations.get | yes | … |`: a cell for each role. */
function readTable(): Record<string, string[]> {
  const rows = readFileSync(DOCS, 'utf8').matchAll(/^\| `([a-z]+\.[a-z]+)` +\|(.+)\|$/gm);
  return Object.fromEntries([...rows].map(([, id, cells]) => [id, cells?.split('|').map((cell) => cell.trim()) ?? []]));
}
