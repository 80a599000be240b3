import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { H3 } from 'h3';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { writePages } from '../../../scripts/_pages.mjs';
import { browser, openPage } from '../../runtime/test/_browser.ts';
import type { Page } from '../../runtime/test/_browser.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { findPagesFolder, readPages } from '../src/pages/files.ts';
import { createPages } from '../src/pages/serve.ts';
import { makeFolder, makeStore, startPlane, startStandalone } from './_setup.ts';
import { isGood, signInCli } from './_oauth.ts';
import { startProvider } from './_oidc-provider.ts';
import { ask, PASSWORD, signUpFirst } from './_people.ts';
import { sendBytes, TOKEN } from './_operator.ts';

const env = { STUDIO_STANDALONE_TOKEN: TOKEN };

/** The pages as they are built, in an app that has nothing else. */
function serveBuilt(): { get(path: string, headers?: Record<string, string>): Promise<Response>; folder: string } {
  const folder = makeFolder();
  writePages({ from: findPagesFolder().folder, to: folder });
  const pages = createPages({ files: readPages('full', { folder, isBuilt: true }), hasRoute: () => false });
  const app = new H3().use((event) => pages(event));
  return { folder, get: async (path, headers = {}) => app.request(path, { headers }) };
}

describe('the pages', () => {
  test('are of the mode, under addresses without an ending', async () => {
    const [one, many] = [await startStandalone(env), await startPlane()];
    const titles = async (plane: { url: string }, paths: string[]) =>
      Promise.all(
        paths.map(async (path) => {
          const answer = await fetch(`${plane.url}${path}`, { headers: { accept: 'text/html' } });
          return /<title>(.*)<\/title>/.exec(await answer.text())?.[1] ?? answer.status;
        }),
      );
    expect(await titles(one, ['/', '/login', '/signup'])).toStrictEqual(['svc', 'Sign in · svc', 404]);
    expect(
      await titles(many, ['/', '/login', '/signup', '/device', '/account', '/invite', '/index.html']),
    ).toStrictEqual([
      'svc',
      'Sign in · svc',
      'Sign up · svc',
      'A machine signs in · svc',
      'Your account · svc',
      'Invite · svc',
      404,
    ]);
  });

  test('have no script, style or handler in their text, and are framed by none', async () => {
    const { folder } = findPagesFolder();
    for (const mode of ['full', 'standalone'])
      for (const file of readdirSync(join(folder, mode))) {
        const text = readFileSync(join(folder, mode, file), 'utf8');
        expect([file, text.match(/<script(?![^>]* src=)|<style|\bstyle=|\son\w+=|javascript:/g)]).toEqual([file, null]);
      }
    const { headers } = await fetch(`${(await startStandalone(env)).url}/login`);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('are found by name alone: no path leads out of them', async () => {
    const plane = await startStandalone(env);
    const outside = ['/assets/../../package.json', '/assets/%2e%2e/%2e%2e/package.json', '/..%2fpackage.json'];
    for (const path of [
      ...outside,
      '/assets/..%5c..%5cpackage.json',
      '/assets',
      '/assets/',
      '//login',
      '/full/login.html',
    ])
      expect(await sendBytes(plane, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1\.1 40[04] /,
      );
  });
});

describe('files as they are built', () => {
  test('have their hash in their name, are kept for good, and are named by it', async () => {
    const { get } = serveBuilt();
    const page = await get('/login');
    const names = (await page.text()).match(/\/assets\/[\w.-]+/g) ?? [];
    expect(names).toHaveLength(3);
    for (const name of names) {
      const asset = await get(name);
      expect([name, asset.status]).toEqual([expect.stringMatching(/-[\w-]{8}\.(?:css|js|svg)$/), 200]);
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
    const script = await get(names.find((name) => name.endsWith('.js')) ?? '');
    expect(await script.text()).toMatch(/from '\.\/common-[\w-]{8}\.js'/);
  });

  test.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['gzip;q=0.5, br;q=0', 'gzip'],
    ['*', 'br'],
    ['identity', null],
    ['', null],
    ['gzip;q=0', null],
  ])('for "%s" are sent as %s', async (accepted, encoding) => {
    const { get, folder } = serveBuilt();
    const answer = await get('/signup', { 'accept-encoding': accepted });
    expect(answer.headers.get('content-encoding')).toBe(encoding);
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.headers.get('content-length')).toBe(String(bytes.length));
    const plain = encoding === 'br' ? brotliDecompressSync(bytes) : encoding === 'gzip' ? gunzipSync(bytes) : bytes;
    expect(plain.toString()).toBe(readFileSync(join(folder, 'full/signup.html'), 'utf8'));
  });

  test('are 304 to who has them, each form by its own tag, and HEAD has no body', async () => {
    const { get } = serveBuilt();
    const headers = { 'accept-encoding': 'br' };
    const etag = (await get('/login', headers)).headers.get('etag') ?? '';
    for (const given of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const again = await get('/login', { ...headers, 'if-none-match': given });
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await get('/login', { 'if-none-match': etag })).status).toBe(200);
    const plane = await startStandalone(env);
    const head = await sendBytes(plane, 'HEAD /login HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 200 [\s\S]*content-length: \d{3,}\r\n[\s\S]*\r\n\r\n$/i);
  });
});

/** All of it: what of WCAG 2.2 and good practice a program can see. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What someone who does not see the page, or has no mouse, would stumble over. */
async function listBarriers(page: Page): Promise<string[]> {
  await page.evaluate(`${AXE}; window.found = undefined;
    axe.run(document).then(({ violations }) => {
      window.found = violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '));
    }); 0`);
  await expect.poll(() => page.evaluate('window.found !== undefined'), { timeout: 20_000 }).toBe(true);
  return page.evaluate<string[]>('window.found');
}

describeWhen(browser, 'in a browser', (path) => {
  const text = (page: Page) => page.evaluate<string>('document.body.innerText');
  const at = (page: Page) => page.evaluate<string>('location.pathname + location.search + location.hash');
  const shows = (page: Page, what: string) => expect.poll(() => text(page), { timeout: 20_000 }).toContain(what);
  const fill = async (page: Page, fields: Record<string, string>) => {
    for (const [id, value] of Object.entries(fields))
      await page.evaluate(`document.getElementById(${JSON.stringify(id)}).value = ${JSON.stringify(value)}`);
  };
  const press = async (page: Page, selector: string) => {
    const button = `document.querySelector(${JSON.stringify(selector)})`;
    await expect.poll(() => page.evaluate(`${button}?.disabled`), { timeout: 20_000 }).toBe(false);
    await page.evaluate(`${button}.click()`);
  };

  /** As far as the page where a person lets the machine in; its address. */
  const beginLogin = async ({ url }: { url: string }, name: string) => {
    const body = new URLSearchParams({ client_id: 'svc-cli', device_name: name });
    const answer = await fetch(`${url}/oauth/device_authorization`, { method: 'POST', body });
    return ((await answer.json()) as { verification_uri_complete: string }).verification_uri_complete;
  };
  /** By the keyboard, and the focus is to be seen there. */
  const tabTo = async (page: Page, selector: string) => {
    const isShown = () =>
      page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.checkVisibility() === true`);
    await expect.poll(isShown, { timeout: 20_000 }).toBe(true);
    const isThere = () => page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`);
    for (let stops = 0; stops < STOPS && !(await isThere()); stops++) await page.press('Tab');
    expect([selector, await isThere()]).toEqual([selector, true]);
    const { outline, shadow } = await page.evaluate<{ outline: string; shadow: string }>(
      '(({ outlineStyle: outline, boxShadow: shadow }) => ({ outline, shadow }))(getComputedStyle(document.activeElement))',
    );
    expect([selector, outline === 'none' && shadow === 'none']).toEqual([selector, false]);
  };
  const STOPS = 20;
  const enter = async (page: Page) => {
    // Until its script is there, a form is not sent.
    const isReady = () => page.evaluate('document.activeElement.form?.querySelector("button")?.disabled !== true');
    await expect.poll(isReady, { timeout: 20_000 }).toBe(true);
    await page.press('Enter');
  };

  test('the operator and a person who lets a machine in need no mouse', async () => {
    const one = await startStandalone({ ...env, SVC_RUNTIME_INTERNAL_URL: 'http://127.0.0.1:1' });
    const page = await openPage(path);
    await page.goto(`${one.url}/`);
    await shows(page, 'Whoever has the token is the operator.');
    await tabTo(page, '#token');
    await page.type(TOKEN);
    await enter(page);
    await shows(page, 'The box does not answer.');
    await tabTo(page, '#token');
    await page.type(TOKEN);
    await enter(page);
    await shows(page, TOKEN);
    await tabTo(page, '#sign-out');
    await enter(page);
    await shows(page, 'Whoever has the token is the operator.');

    const plane = await startPlane();
    const { email } = await signUpFirst(plane);
    await page.goto(await beginLogin(plane, 'adas-laptop'));
    await expect.poll(() => at(page), { timeout: 20_000 }).toContain('/login?next=');
    await tabTo(page, '#email');
    await page.type(email);
    await tabTo(page, '#password');
    await page.type(PASSWORD);
    await enter(page);
    await shows(page, 'Let this machine in?');
    await tabTo(page, '[value=approve]');
    await enter(page);
    await shows(page, 'The machine is signed in');
  });

  test('the operator signs in, sees the box, has the token shown, and signs out', async () => {
    const plane = await startStandalone({ ...env, SVC_RUNTIME_INTERNAL_URL: 'http://127.0.0.1:1' });
    const page = await openPage(path);
    await page.goto(`${plane.url}/`);
    await shows(page, 'Whoever has the token is the operator.');
    await fill(page, { token: 'wrong' });
    await press(page, 'button');
    await shows(page, 'This is not the token.');
    expect(await listBarriers(page)).toEqual([]);
    await fill(page, { token: TOKEN });
    await press(page, 'button');
    await shows(page, 'The box does not answer.');
    await fill(page, { token: TOKEN });
    await press(page, '#reveal button');
    await shows(page, TOKEN);
    expect(await listBarriers(page)).toEqual([]);
    await press(page, '#sign-out');
    await shows(page, 'Whoever has the token is the operator.');
    expect(page.complaints.filter((complaint) => !/status of (?:401|502)/.test(complaint))).toEqual([]);
    expect(page.requests.filter((address) => !address.startsWith(plane.url))).toEqual([]);
  });

  test('a sign-in leads nowhere but to our own pages', async () => {
    const plane = await startStandalone(env);
    const elsewhere = [
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '/\t/evil.example',
      '\t//evil.example',
    ];
    const page = await openPage(path);
    for (const next of [...elsewhere, '/?own=1']) {
      await page.goto(`${plane.url}/login?next=${encodeURIComponent(next)}`);
      await expect.poll(() => at(page)).toContain('/login');
      await shows(page, 'Sign in');
      await fill(page, { token: TOKEN });
      await press(page, 'button');
      await expect.poll(() => page.evaluate('location.origin + location.pathname')).not.toContain('/login');
      expect(await page.evaluate<string>('location.origin')).toBe(plane.url);
      await shows(page, 'The box');
    }
    expect(await at(page)).toBe('/?own=1');
  });

  test('a person signs up, invites, and the invited person joins', async () => {
    const plane = await startPlane();
    const page = await openPage(path);
    await page.goto(`${plane.url}/signup`);
    await shows(page, 'At least 12 characters.');
    expect(await listBarriers(page)).toEqual([]);
    await fill(page, { name: 'Ada', email: 'ada@example.com', organization: 'Acme', password: PASSWORD });
    await press(page, 'button');
    await shows(page, 'Acme, as owner');
    await shows(page, 'svc init');
    expect(await listBarriers(page)).toEqual([]);
    const invited = `fetch('/api/v1/me').then((a) => a.json()).then(({ organization }) => fetch('/api/v1/orgs/' + organization.id + '/invites', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ email: 'bob@example.com', role: 'member' }) })).then((a) => a.json()).then(({ url }) => (document.title = url))`;
    await page.evaluate(invited);
    await expect.poll(() => page.evaluate('document.title')).toContain('/invite#');
    const url = await page.evaluate<string>('document.title');
    const other = await openPage(path);
    await other.goto(url);
    await shows(other, 'bob@example.com');
    expect(await listBarriers(other)).toEqual([]);
    // One way in for who is new here, and one for who is not: the page does not say which it is.
    await shows(other, 'Sign in with that address');
    await fill(other, { name: 'Bob', password: PASSWORD });
    await press(other, '#signup button');
    await shows(other, 'Acme, as member');
    await other.goto(`${plane.url}/invite#svi_none`);
    await shows(other, 'This invite is not valid');
  });

  test('where new people come by the provider alone, pages offer them that', async () => {
    const provider = await startProvider();
    const own = { ...(await makeStore('sqlite')), ...provider.env };
    const before = await startPlane({ env: { ...own, PLANE_PASSWORD_SIGNUP: '1' } });
    const { cookie, organizationId } = await signUpFirst(before);
    const invited = { cookie, body: { email: 'bob@example.com', role: 'member' } };
    const { token } = (await ask(before, `POST /api/v1/orgs/${organizationId}/invites`, invited)).body;
    await before.close();
    const plane = await startPlane({ env: own });
    const page = await openPage(path);
    await page.goto(`${plane.url}/invite#${token}`);
    await shows(page, 'New people come by the identity provider here.');
    expect(await text(page)).not.toContain('At least 12 characters');
    expect(await listBarriers(page)).toEqual([]);
    await page.goto(`${plane.url}/signup`);
    await shows(page, 'New people come by the identity provider here');
    expect(await text(page)).not.toContain('At least 12 characters');
    expect(await listBarriers(page)).toEqual([]);
  });

  test('a person sees where it is signed in, signs the others out, and deletes what it has', async () => {
    const plane = await startPlane();
    const ada = await signUpFirst(plane);
    const cli = [await signInCli(plane, ada), await signInCli(plane, ada)];
    const good = async () => Promise.all(cli.map((one) => isGood(plane, one)));
    const page = await openPage(path);
    await page.goto(`${plane.url}/account`);
    await shows(page, 'Sign in');
    await fill(page, { email: ada.email, password: PASSWORD });
    await press(page, 'button');
    await shows(page, 'Chrome on Linux, browser: this one');
    expect(await listBarriers(page)).toEqual([]);
    const count = () => page.evaluate<number>(`document.querySelectorAll('#sessions li').length`);
    expect(await count()).toBe(4);
    await press(page, '#sessions button');
    await expect.poll(count).toBe(3);
    const focused = () => page.evaluate<string>('document.activeElement.id');
    await expect.poll(focused).toBe('sessions-title');
    expect((await good()).filter(Boolean)).toHaveLength(1);
    await press(page, '#others button');
    await expect.poll(count).toBe(1);
    await expect.poll(focused).toBe('sessions-title');
    expect(await good()).toEqual([false, false]);
    expect((await fetch(`${plane.url}/api/v1/me`, { headers: { cookie: ada.cookie } })).status).toBe(401);
    await shows(page, 'this one');

    // Then it deletes its organisation, and its account.
    await fill(page, { email: ada.email, password: PASSWORD });
    await press(page, '#delete-account button');
    await shows(page, 'You are the last owner of "Acme"');
    await fill(page, { slug: 'Acme' });
    await press(page, '#delete-organization button');
    await shows(page, 'it is not "acme"');
    expect(await listBarriers(page)).toEqual([]);
    await fill(page, { slug: 'acme' });
    await press(page, '#delete-organization button');
    await shows(page, 'none: accept an invite');
    await page.goto(`${plane.url}/account`);
    await shows(page, 'this one');
    expect(await text(page)).not.toContain('Delete the organisation');
    await fill(page, { email: ada.email, password: PASSWORD });
    await press(page, '#delete-account button');
    await expect.poll(() => at(page)).toContain('/login');
    expect((await ask(plane, 'GET /api/v1/auth/methods')).body.signup).toBe('open');
  });

  test('a machine is let in by who has looked at it, once, and a code that is none says so', async () => {
    const plane = await startPlane();
    const { email } = await signUpFirst(plane);
    const page = await openPage(path);
    const url = await beginLogin(plane, 'adas-laptop <b>');
    await page.goto(url);
    await shows(page, 'Sign in');
    await fill(page, { email, password: PASSWORD });
    await press(page, 'button');
    await shows(page, 'Let this machine in?');
    expect(await listBarriers(page)).toEqual([]);
    expect(await text(page)).toContain('adas-laptop <b>');
    expect(await text(page)).toContain(new URL(url).searchParams.get('user_code'));
    await press(page, '[value=approve]');
    await shows(page, 'The machine is signed in');
    expect(await listBarriers(page)).toEqual([]);
    await page.goto(`${url}&again`);
    await expect.poll(() => text(page), { timeout: 20_000 }).toMatch(/The machine is signed in|no such code/);
    await page.goto(await beginLogin(plane, 'other'));
    await shows(page, 'other');
    await press(page, '[value=deny]');
    await shows(page, 'The machine was not let in');
    await page.goto(`${plane.url}/device`);
    await shows(page, 'Type the code');
    expect(await listBarriers(page)).toEqual([]);
    await fill(page, { code: 'bcdf-ghjk' });
    await press(page, '#code-form button');
    await shows(page, 'There is no such code');
  });
});
