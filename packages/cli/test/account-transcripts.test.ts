import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, onTestFinished, vi } from 'vitest';
import { addInstallation, openBox } from '../../control-plane/test/_box.ts';
import { addPerson, ask, cookieOf, logIn, PASSWORD } from '../../control-plane/test/_people.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { CODE, findCode, startAccount } from './_plane.ts';
import { closedAddress } from './_setup.ts';
import { settleIds, startTranscript, WIDTHS } from './_transcript.ts';

const boxes = setupBoxes();
const SECRET = 's'.repeat(64);

vi.mock('node:os', async (load) => ({ ...(await load<object>()), hostname: () => 'laptop' }));

it.each(WIDTHS)('the verbs of an account print this at %i columns', async (columns) => {
  const { plane, ada, env: home, decide, revokeAll } = await startAccount();
  const away = await closedAddress();
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'svc-account-')));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  mkdirSync(join(cwd, 'workflows'));
  let box = 'https://box.example.com';
  const settle = (text: string) =>
    settleIds(
      text
        .replaceAll(plane.url, 'https://studio.example')
        .replaceAll(away, 'https://absent.example')
        .replaceAll(box, 'https://box.example.com')
        .replaceAll(cwd, '/work/shop')
        .replaceAll(home.HOME ?? '', '/home/ada')
        .replaceAll(/\b\d+s ago/g, '0s ago')
        .replaceAll(CODE, 'BDFG-HJKL'),
    );
  const none = { SVC_CONTROL_PLANE_URL: '' };
  const transcript = startTranscript({ columns, cwd, env: home, settle });
  /** The command line signs in, and Ada decides as soon as she sees the code. */
  const signIn = async (decision: 'approve' | 'deny' = 'approve') => {
    let decided: Promise<void> | undefined;
    const onStderr = (text: string) => {
      const code = findCode(text);
      if (code) decided ??= decide(code, decision);
    };
    await transcript.run(['login', '--no-browser'], { onStderr });
    await decided;
  };
  for (const verb of ['login', 'whoami', 'link', 'logout']) await transcript.run([verb], { env: none });
  await transcript.run(['whoami']);
  await transcript.run(['runs', 'list', '--agent', 'shop']);
  await transcript.run(['login', '--endpoint', away]);
  await transcript.run(['login', '--endpoint', 'studio']);
  await signIn('deny');
  await signIn();
  await transcript.run(['whoami']);
  // The browser in which she signed up, and another one.
  await ask(plane, 'POST /api/v1/auth/logout', ada);
  const cookie = await openFirefox(plane, ada.email);
  await transcript.run(['account', 'sessions']);
  const { items } = (await ask(plane, 'GET /api/v1/sessions', { cookie })).body;
  const browser = items.find(({ kind }: { kind: string }) => kind === 'browser');
  await transcript.run(['account', 'sign-out']);
  await transcript.run(['account', 'sign-out', browser.id]);
  await transcript.run(['account', 'sign-out', browser.id]);
  await transcript.run(['account', 'sign-out', '--others']);
  await transcript.run(['runs', 'list', '--agent', 'shop']);
  const own = { ...ada, cookie: cookieOf(await logIn(plane, ada.email)) };
  const id = await addInstallation(plane, own.cookie);
  await transcript.run(['runs', 'list', '--agent', id]);
  await transcript.run(['link']);
  await transcript.run(['link', id, '--url', box, '--image-tag', 'shop:12']);
  const secret = { HMAC_SECRET: SECRET };
  await transcript.run(['link', id, '--url', 'box', '--image-tag', 'shop:12'], { env: secret });
  await transcript.run(['link', 'shop', '--url', box, '--image-tag', 'shop:12'], { env: secret });
  const registration = { installationId: id, hmacSecret: SECRET };
  box = await (await openBox(boxes, { issuer: plane.url, installationId: id, registration })).listen();
  await transcript.run(['link', id, '--url', box, '--image-tag', 'shop:12'], { env: { HMAC_SECRET: 'other' } });
  await transcript.run(['link', id, '--url', box, '--image-tag', 'shop:12'], { env: secret });
  plane.isDown = true;
  await transcript.run(['whoami']);
  plane.isDown = false;
  await transcript.run(['logout']);
  await signIn();
  await revokeAll();
  await transcript.run(['whoami']);
  await transcript.run(['logout']);
  await signIn();
  await transcript.run(['account', 'delete-organization', 'acme']);
  await transcript.run(['account', 'delete-organization', 'umbrella', '--yes']);
  await transcript.run(['account', 'delete', '--yes'], { stdin: PASSWORD });
  await transcript.run(['account', 'delete-organization', 'acme', '--yes']);
  // A machine is let in for an organisation, of which there has to be another owner then.
  own.cookie = cookieOf(await logIn(plane, ada.email));
  own.organizationId = (await ask(plane, 'POST /api/v1/orgs', { ...own, body: { name: 'Own' } })).body.id;
  await addPerson(plane, own, { email: 'bo@example.com', role: 'owner' });
  ada.organizationId = own.organizationId;
  await signIn();
  await transcript.run(['account', 'delete']);
  await transcript.run(['account', 'delete', '--yes'], { stdin: 'another' });
  await transcript.run(['account', 'delete', '--yes'], { stdin: PASSWORD });
  await transcript.run(['plane', '--port', 'http']);
  await transcript.run(['plane', 'backup', 'plane.backup']);
  await transcript.run(['plane', 'restore', 'plane.backup']);
  await transcript.run(['plane', 'reset-password', 'ada@example.com']);
  await transcript.run(['plane', 'rotate-keys']);
  await transcript.expectFile('account');
});

// --- internal ---

async function openFirefox({ url }: { url: string }, email: string): Promise<string> {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url, 'user-agent': agent },
    body: JSON.stringify({ email, password: PASSWORD }),
  });
  return cookieOf(answer);
}
