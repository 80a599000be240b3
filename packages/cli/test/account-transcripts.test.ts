import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, onTestFinished } from 'vitest';
import { PASSWORD, startFakePlane } from './_fake-plane.ts';
import { makeHome } from './_home.ts';
import { closedAddress } from './_setup.ts';
import { settleIds, startTranscript, WIDTHS } from './_transcript.ts';

it.each(WIDTHS)('the verbs of an account print this at %i columns', async (columns) => {
  const plane = await startFakePlane();
  const home = makeHome(plane);
  const away = await closedAddress();
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'svc-account-')));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  mkdirSync(join(cwd, 'workflows'));
  const settle = (text: string) =>
    settleIds(
      text
        .replaceAll(plane.url, 'https://studio.example')
        .replaceAll(away, 'https://absent.example')
        .replaceAll(cwd, '/work/shop')
        .replaceAll(home.HOME ?? '', '/home/ada'),
    );
  const none = { SVC_CONTROL_PLANE_URL: '' };
  const transcript = startTranscript({ columns, cwd, env: home, settle });
  for (const verb of ['login', 'whoami', 'link', 'logout']) await transcript.run([verb], { env: none });
  await transcript.run(['whoami']);
  await transcript.run(['runs', 'list', '--agent', 'shop']);
  await transcript.run(['login', '--endpoint', away]);
  await transcript.run(['login', '--endpoint', 'studio']);
  plane.answers.push('access_denied');
  await transcript.run(['login', '--no-browser']);
  await transcript.run(['login', '--no-browser']);
  await transcript.run(['whoami']);
  await transcript.run(['account', 'sessions']);
  await transcript.run(['account', 'sign-out']);
  await transcript.run(['account', 'sign-out', '0192f3b4-0000-7000-8000-000000000002']);
  await transcript.run(['account', 'sign-out', '--others']);
  await transcript.run(['runs', 'list', '--agent', 'shop']);
  const id = '4f7c0f0e-5d0c-4b0e-9d52-0c9f6f9a1f10';
  plane.agents.push(plane.makeAgent({ id, name: 'shop' }));
  await transcript.run(['runs', 'list', '--agent', id]);
  await transcript.run(['link']);
  await transcript.run(['link', id, '--url', 'https://box.example.com', '--image-tag', 'shop:12']);
  const secret = { HMAC_SECRET: 's'.repeat(40) };
  await transcript.run(['link', id, '--url', 'box', '--image-tag', 'shop:12'], { env: secret });
  await transcript.run(['link', 'shop', '--url', 'https://box.example.com', '--image-tag', 'shop:12'], { env: secret });
  await transcript.run(['link', id, '--url', 'https://box.example.com', '--image-tag', 'shop:12'], { env: secret });
  plane.isDown = true;
  await transcript.run(['whoami']);
  plane.isDown = false;
  await transcript.run(['logout']);
  await transcript.run(['login', '--no-browser']);
  plane.revokeAll();
  await transcript.run(['whoami']);
  await transcript.run(['logout']);
  await transcript.run(['login', '--no-browser']);
  await transcript.run(['account', 'delete-organization', 'acme']);
  await transcript.run(['account', 'delete-organization', 'umbrella', '--yes']);
  await transcript.run(['account', 'delete-organization', 'acme', '--yes']);
  await transcript.run(['login', '--no-browser']);
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
