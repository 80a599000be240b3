import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { svc } from '../../runtime/src/index.ts';
import { CLIENT, useOAuthServer } from '../../runtime/test/_oauth-server.ts';
import { call, runWorkflow, toStep } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const KEY = 'a-key-of-a-service';
const SECRETS = [KEY, CLIENT.secret, 'a-long-password'];

const ask = toStep('ask', async (id: string) => (await svc.connection(id).fetch('/me')).status);

describeWhen(browser, 'Connections', (path) => {
  const oauth = useOAuthServer();
  let url = 'http://127.0.0.1:4242';
  const services = () => ({ database: { url: null }, storage: null, agent: { url } });
  const served = serveBox({ workflows: { ask: { run: (id: string) => ask(id) } }, options: { services } });
  beforeAll(() => {
    url = served().url;
  });
  const open = openBrowser(path);
  const show = (id = '') => open(served().studio(`/connections${id === '' ? '' : `/${id}`}`));
  const read = async (id: string) =>
    (await call<Record<string, unknown>>(served().box, `GET /api/connections/${id}`)).body;
  const make = async (id: string, more: object = {}) => {
    const custom = { id, provider: 'custom', auth: 'api_key', baseUrl: `${oauth.url}/api/`, ...more };
    expect((await call(served().box, 'POST /api/connections', custom)).status).toBe(201);
  };
  const set = (id: string, credential: object) =>
    call(served().box, `PUT /api/connections/${id}/credential`, credential);
  const signedIn = (more: object = {}) => ({
    // One that the box knows how to try.
    provider: 'zoom',
    auth: 'oauth2',
    // Another site than that of the box.
    authorizationUrl: `${oauth.url.replace('127.0.0.1', 'localhost')}/authorize`,
    tokenUrl: `${oauth.url}/token`,
    clientId: CLIENT.id,
    scopes: ['read', 'write'],
    ...more,
  });
  const fill = async (page: Page, values: Record<string, string>) => {
    const dialog = page.getByRole('dialog');
    for (const [label, value] of Object.entries(values)) await dialog.getByLabel(label, { exact: true }).fill(value);
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
  };
  beforeEach(() => oauth.reset());

  test('one is chosen from the services, its key is written and tried, and it is deleted', async () => {
    const page = await show();
    await page.getByText('Nothing is connected yet').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'New connection' }).click();
    const dialog = page.getByRole('dialog', { name: 'New connection' });
    expect(await dialog.getByRole('button', { name: 'Connect' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Service').selectOption('github');
    expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('github');
    await dialog.getByRole('link', { name: 'How GitHub hands out credentials' }).waitFor();
    expect(await dialog.getByLabel('Scopes').inputValue()).toBe('read:user repo');
    await dialog.getByText('More', { exact: true }).press('Enter');
    expect(await dialog.getByLabel('Another address of its API').getAttribute('placeholder')).toBe(
      'https://api.github.com',
    );
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByLabel('Service').selectOption('custom');
    await dialog.getByLabel('How it knows the box').selectOption('api_key');
    expect(await dialog.getByLabel('Client id').count()).toBe(0);
    await dialog.getByLabel('Name', { exact: true }).fill('crm');
    expect(await dialog.getByRole('button', { name: 'Connect' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Address of its API').fill(`${oauth.url}/api/`);
    await dialog.getByLabel('Title').fill('The CRM');
    expect(await listBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Connect' }).press('Enter');

    await page.getByRole('heading', { name: 'crm' }).waitFor();
    await page.getByText('Its credential is missing.').waitFor();
    expect(await page.getByRole('button', { name: 'Test' }).count()).toBe(0);
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Set the credential' }).click();
    expect(await page.getByLabel('API key').getAttribute('type')).toBe('password');
    expect(await listBarriers(page)).toEqual([]);
    await fill(page, { 'API key': KEY });
    await page.getByText('Agents and workflows can call through it.').waitFor();
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('not tried', { exact: true }).waitFor();
    expect(await read('crm')).toMatchObject({ title: 'The CRM', state: 'ready', auth: 'api_key' });

    expect((await runWorkflow(served().box, 'ask', 'crm')).output).toBe(200);
    expect(oauth.calls.at(-1)?.authorization).toBe(`Bearer ${KEY}`);
    await expect.poll(async () => (await read('crm'))['usedBy'], { timeout: 20_000 }).toHaveLength(1);
    await page.reload();
    await page.getByRole('row', { name: /ask workflow/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    for (const secret of SECRETS) expect(await page.content()).not.toContain(secret);

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('ask can call through it no more').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/studio/connections');
    await page.getByText('What The CRM knows the box by is valid until it is deleted there.').waitFor();
    await page.getByText('Nothing is connected yet').waitFor();
    expect((await call(served().box, 'GET /api/connections/crm')).status).toBe(404);
  });

  test('a person signs in in another window, which closes, and the page knows', async () => {
    await make('crm', signedIn());
    const page = await show('crm');
    await page.getByText('The client secret is missing.').waitFor();
    expect(await page.getByRole('button', { name: 'Sign in' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Set the credential' }).click();
    await fill(page, { 'Client secret': CLIENT.secret });
    await page.getByText('A person has to sign in who owns the account.').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign in at Zoom' });
    await dialog.getByText('/api/connect/callback').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.context().route('**/authorize?*', (route) => route.fulfill({ body: 'Do you agree?' }), { times: 1 });
    const away = page.waitForEvent('popup');
    await dialog.getByRole('button', { name: 'Open the sign-in page' }).press('Enter');
    const other = await away;
    await other.getByText('Do you agree?').waitFor();
    expect(await other.evaluate('window.opener')).toBeNull();
    await dialog.getByText('Sign in in the other window.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    const closed = other.waitForEvent('close');
    await other.reload().catch(() => {});
    await closed;
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Agents and workflows can call through it.').waitFor();
    await page.getByRole('button', { name: 'Sign in again' }).waitFor();
    expect(await read('crm')).toMatchObject({ state: 'ready', grantedScopes: ['read', 'write'] });
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('works', { exact: true }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    expect(await page.content()).not.toMatch(/access-[0-9a-f]{24}|refresh-[0-9a-f]{24}/);

    await page.goto(served().studio('/connections'));
    await page.getByRole('row', { name: /^crm Zoom ready.*read write.*of the box/ }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'crm' }).click();

    // What the service takes back is seen when it is tried, and a sign-in mends it.
    oauth.revoke(true);
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('does not work', { exact: true }).waitFor();
    await page.getByText('revoked', { exact: true }).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await dialog.getByRole('button', { name: 'Open the sign-in page' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Agents and workflows can call through it.').waitFor();
  });

  test.each([
    [null, 'crm is deleted. Zoom has revoked what it had granted.'],
    [503, 'crm is deleted. Zoom has not revoked 1 of 1: it answered 503. Do it there.'],
  ])('one that is deleted while the service answers %s says what the service has done', async (answer, said) => {
    if ((await call(served().box, 'GET /api/connections/crm')).status === 200)
      await call(served().box, 'DELETE /api/connections/crm');
    await make('crm', signedIn({ revocationUrl: `${oauth.url}/revoke` }));
    await set('crm', { clientSecret: CLIENT.secret });
    const { body } = await call<{ url: string }>(served().box, 'POST /api/connections/crm/authorize', {});
    const back = await oauth.approve(body.url);
    await served().box.app.request(back.pathname + back.search);
    oauth.ways.revocation = answer;
    const page = await show('crm');
    await page.getByText(`${oauth.url}/revoke`).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('Zoom is asked to revoke what it has granted.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText(said).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, `connection-deleted-${answer}`);
  });

  test('where no window opens, the page is a link, and the person says when it is done', async () => {
    await make('blocked', signedIn());
    await set('blocked', { clientSecret: CLIENT.secret });
    const page = await show('blocked');
    await page.evaluate('window.open = () => null');
    await page.getByRole('button', { name: 'Sign in' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Open the sign-in page' }).click();
    await dialog.getByText('Your browser did not open a window.').waitFor();
    const tab = page.context().waitForEvent('page');
    await dialog.getByRole('link', { name: 'Open the page in a tab' }).click();
    // A tab that the person has opened stays, and says what to do.
    await (await tab).getByText('You can close this window.').waitFor();
    // Whichever comes first: the person says it, or the page is told.
    const said = dialog.getByRole('button', { name: 'I have signed in' }).click();
    said.catch(() => {});
    await Promise.race([said, dialog.waitFor({ state: 'detached' })]);
    await dialog.waitFor({ state: 'detached' });
    expect(await read('blocked')).toMatchObject({ state: 'ready' });
  });

  test('a password and client credentials are written by what each asks for', async () => {
    await make('basic', { provider: 'twilio', auth: 'basic' });
    const page = await show('basic');
    await page.getByRole('button', { name: 'Set the credential' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Username').fill('ada');
    expect(await dialog.getByRole('button', { name: 'Set', exact: true }).isDisabled()).toBe(true);
    await fill(page, { Password: 'a-long-password' });
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('works', { exact: true }).waitFor();

    await make('robot', { ...signedIn(), provider: 'custom', auth: 'client_credentials', authorizationUrl: undefined });
    await page.goto(served().studio('/connections/robot'));
    await page.getByRole('button', { name: 'Set the credential' }).click();
    await fill(page, { 'Client secret': CLIENT.secret });
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByText('not tried', { exact: true }).waitFor();
    expect(oauth.granted).toEqual({ client_credentials: 1 });
    for (const secret of SECRETS) expect(await page.content()).not.toContain(secret);
  });

  test('what the box refuses is said in the form, and what is gone has a page that says so', async () => {
    await make('taken');
    const page = await show();
    allowComplaint(page, /40[49]/);
    await page.getByRole('button', { name: 'New connection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Service').selectOption('notion');
    await dialog.getByLabel('Name', { exact: true }).fill('taken');
    await dialog.getByRole('button', { name: 'Connect' }).click();
    await dialog.getByRole('alert').getByText('connection_exists').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.goto(served().studio('/connections/nothing'));
    await page.getByText('connection_not_found').waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('one per user has nothing to sign in to here', async () => {
    await make('calendar', signedIn({ per: 'user', title: 'The calendar' }));
    await set('calendar', { clientSecret: CLIENT.secret });
    const page = await show('calendar');
    await page.getByText('Each end user signs in with an account of their own; no one has.').waitFor();
    expect(await page.getByRole('button', { name: /^Sign in|^Test/ }).count()).toBe(0);
  });

  test.each(['dark', 'narrow'] as const)('is whole on a %s page', async (how) => {
    const page = await open(
      served().studio('/connections'),
      how === 'dark' ? { theme: 'dark' } : { width: 360, height: 740 },
    );
    await page.getByRole('row', { name: /calendar/ }).waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'New connection' }).click();
    await page.getByRole('dialog').getByLabel('Service').selectOption('custom');
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'calendar' }).click();
    await page.getByText('To register at the service').waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, `connection-${how}`);
  });
});
