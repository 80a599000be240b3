import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openBox } from '../../control-plane/test/_box.ts';
import { addOrganization, addPerson, ask, PASSWORD, signUpFirst } from '../../control-plane/test/_people.ts';
import { makeClock, startPlane, STORES } from '../../control-plane/test/_setup.ts';
import type { RunningPlane, StoreName } from '../../control-plane/test/_setup.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { writeLink } from '../src/account/project-link.ts';
import { makeHome } from './_home.ts';
import { logIn, QUICK_POLL_S } from './_plane.ts';
import { runCli } from './_run.ts';
import { makeProject, readDocument, readError } from './_setup.ts';

const boxes = setupBoxes();
const SECRET = 'f'.repeat(64);

async function start(store: StoreName = 'sqlite') {
  const clock = makeClock();
  // PostgreSQL keeps whole seconds of it.
  const pollSeconds = store === 'postgres' ? 1 : QUICK_POLL_S;
  const plane = await startPlane({ store, now: clock.now, pollSeconds });
  const ada = await signUpFirst(plane);
  const env = { ...makeHome(), SVC_CONTROL_PLANE_URL: plane.url };
  return { plane, ada, env, clock };
}

async function startBox(plane: RunningPlane, id: string): Promise<string> {
  const registration = { installationId: id, hmacSecret: SECRET };
  const box = await openBox(boxes, { issuer: plane.url, installationId: id, registration });
  return box.listen();
}

describe.each(STORES)('with a control plane on %s', (store) => {
  it('a person signs in, registers a box, asks it and signs out', async () => {
    const { plane, ada, env, clock } = await start(store);
    const run = (...argv: string[]) => runCli([...argv, '--json'], { env });
    const identity = { user: ada.email, userId: ada.userId, organization: 'acme', endpoint: plane.url };
    expect(readDocument(await logIn(plane, ada, env))).toMatchObject(identity);
    expect(readDocument(await run('whoami'))).toMatchObject(identity);

    const { id } = (await ask(plane, 'POST /api/v1/installations', { ...ada, body: { name: 'shop' } })).body;
    const before = await run('runs', 'list', '--agent', id);
    expect([before.exitCode, readError(before).code]).toEqual([3, 'no_deployment']);
    const url = await startBox(plane, id);
    const link = (secret: string) =>
      runCli(['link', id, '--url', url, '--image-tag', 'shop:12', '--json'], { env: { ...env, HMAC_SECRET: secret } });
    const refused = await link('e'.repeat(64));
    expect([refused.exitCode, readError(refused).code]).toEqual([1, 'invalid_signature']);
    const linked = { installationId: id, url, imageTag: 'shop:12', endpoint: plane.url };
    expect(readDocument(await link(SECRET))).toMatchObject(linked);

    expect(readDocument(await run('runs', 'list', '--agent', id))).toMatchObject({ items: [] });
    // The access token is over for the control plane, and not yet for the command line: it is refreshed.
    clock.move(6 * 60_000);
    expect(readDocument(await run('whoami'))).toMatchObject(identity);

    // Another machine, which the first one signs out.
    const other = { ...makeHome(), SVC_CONTROL_PLANE_URL: plane.url };
    await logIn(plane, ada, other);
    const sessions = readDocument(await run('account', 'sessions'));
    expect(sessions.items).toHaveLength(3);
    expect(sessions.items).toContainEqual(expect.objectContaining({ kind: 'cli', isCurrent: true }));
    expect(readDocument(await run('account', 'sign-out', '--others'))).toMatchObject({ ended: 2 });
    expect(readError(await runCli(['whoami', '--json'], { env: other })).code).toBe('session_expired');
    const none = await run('account', 'sign-out', randomUUID());
    expect([none.exitCode, readError(none).code]).toEqual([4, 'not_found']);

    expect(readDocument(await run('logout'))).toMatchObject({ signedOut: true });
    expect(readError(await run('whoami')).code).toBe('not_signed_in');
  });
});

it('an organisation and an account are deleted; a password that is wrong ends no session', async () => {
  const { plane, ada, env } = await start();
  const run = (argv: string[], stdin?: string) =>
    runCli([...argv, '--json'], { env, ...(stdin === undefined ? {} : { stdin }) });
  await logIn(plane, ada, env);
  const early = await run(['account', 'delete', '--yes'], PASSWORD);
  expect([early.exitCode, readError(early).code]).toEqual([1, 'last_owner']);
  expect(readError(await run(['account', 'delete-organization', 'acme'])).code).toBe('confirm_required');
  const none = await run(['account', 'delete-organization', 'umbrella', '--yes']);
  expect([none.exitCode, readError(none).code]).toEqual([4, 'not_found']);
  const gone = { organization: 'acme', endpoint: plane.url };
  expect(readDocument(await run(['account', 'delete-organization', 'acme', '--yes']))).toMatchObject(gone);
  expect(readError(await run(['whoami'])).code).toBe('not_signed_in');

  // A machine is let in for an organisation, of which there has to be another owner then.
  const { id: organizationId } = (await ask(plane, 'POST /api/v1/orgs', { ...ada, body: { name: 'Own' } })).body;
  await addPerson(plane, { ...ada, organizationId }, { email: 'bo@example.com', role: 'owner' });
  await logIn(plane, { ...ada, organizationId }, env);
  const wrong = await run(['account', 'delete', '--yes'], 'another password\n');
  expect([wrong.exitCode, readError(wrong).code]).toEqual([2, 'wrong_credentials']);
  expect(readDocument(await run(['whoami']))).toMatchObject({ user: ada.email, organization: 'own' });
  const deleted = await run(['account', 'delete', '--yes'], `${PASSWORD}\n`);
  expect(readDocument(deleted)).toMatchObject({ user: ada.email, endpoint: plane.url });
  expect((await ask(plane, 'GET /api/v1/me', ada)).status).toBe(401);
});

it('an agent there is not, or of another organisation, is none: exit 3, and exit 4 for the one of a workspace', async () => {
  const { plane, ada, env } = await start();
  const bo = await addPerson(plane, ada, { email: 'bo@example.com', role: 'viewer' });
  const organization = await addOrganization(plane, ada, bo);
  await ask(plane, 'POST /api/v1/session/organization', { ...bo, body: { organization } });
  const foreign = (await ask(plane, 'POST /api/v1/installations', { ...bo, body: { name: 'foreign' } })).body.id;
  await logIn(plane, ada, env);
  for (const id of [randomUUID(), foreign, 'shop']) {
    const result = await runCli(['runs', 'list', '--agent', id, '--json'], { env });
    expect([result.exitCode, readError(result).code]).toEqual([3, 'not_linked']);
  }
  const { id } = (await ask(plane, 'POST /api/v1/installations', { ...ada, body: { name: 'shop' } })).body;
  await ask(plane, `DELETE /api/v1/installations/${id}`, ada);
  const cwd = await makeProject();
  writeLink(cwd, { endpoint: plane.url, installationId: id, name: 'shop' });
  const dev = await runCli(['dev', '--json'], { env, cwd });
  expect([dev.exitCode, readError(dev).code]).toEqual([4, 'agent_not_found']);
});

it('a sign-in that is denied is login_denied, and keeps no session', async () => {
  const { plane, ada, env } = await start();
  expect(readError(await logIn(plane, ada, env, 'deny')).code).toBe('login_denied');
  expect(readError(await runCli(['whoami', '--json'], { env })).code).toBe('not_signed_in');
});

it('a session that has ended at the control plane is session_expired', async () => {
  const { plane, ada, env, clock } = await start();
  await logIn(plane, ada, env);
  clock.move(31 * 24 * 3_600_000);
  const { exitCode, ...result } = await runCli(['whoami', '--json'], { env });
  expect([exitCode, readError({ exitCode, ...result }).code]).toEqual([2, 'session_expired']);
  expect(readError(await runCli(['whoami', '--json'], { env })).code).toBe('not_signed_in');
});
