import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { addInstallation, openBox } from '../../control-plane/test/_box.ts';
import { startSignedIn } from '../../control-plane/test/_operator.ts';
import { ask, signUpFirst } from '../../control-plane/test/_people.ts';
import { startPlane } from '../../control-plane/test/_setup.ts';
import { newMasterKey } from '../../runtime/src/secrets/master-key.ts';
import { CLIENT, useOAuthServer } from '../../runtime/test/_oauth-server.ts';
import { setupBoxes, until } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { browser, listBarriers, openBrowser } from './_browser.ts';

const SECRET = 'f'.repeat(64);
const secretKey = newMasterKey();

/** How the page of a service treats whoever has opened it: those of big ones released them. */
const SERVICES = { open: undefined, guarded: 'same-origin' } as const;

describeWhen(browser, 'A sign-in of a connection from a control plane', (path) => {
  const boxes = setupBoxes();
  const oauth = useOAuthServer();
  const open = openBrowser(path);

  /** From the screen of a new connection to its first token; answers the window of the service. */
  const signIn = async (page: Page, policy: string | undefined): Promise<Page> => {
    await page.getByText('A person has to sign in who owns the account.').waitFor();
    await page.context().route(
      '**/authorize?*',
      (route) =>
        route.fulfill({
          contentType: 'text/html',
          headers: policy === undefined ? {} : { 'cross-origin-opener-policy': policy },
          body: '<title>The service</title><p>Do you agree?',
        }),
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Sign in' }).click();
    const dialog = page.getByRole('dialog');
    const away = page.context().waitForEvent('page');
    await dialog.getByRole('button', { name: 'Open the sign-in page' }).click();
    const other = await away;
    await other.getByText('Do you agree?').waitFor();
    expect(await other.evaluate('window.opener')).toBeNull();
    await dialog.getByText('Sign in in the other window.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
    // The person says yes; the page of the service is not there any more, so the service sends the browser back.
    await other.reload().catch(() => {});
    return other;
  };
  const isDone = async (page: Page) => {
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('Agents and workflows can call through it.').waitFor();
  };
  let ids = 0;
  const described = () => ({
    id: `crm-${ids++}`,
    provider: 'custom',
    auth: 'oauth2',
    title: 'The CRM',
    baseUrl: `${oauth.url}/api/`,
    authorizationUrl: `${oauth.url}/authorize`,
    tokenUrl: `${oauth.url}/token`,
    clientId: CLIENT.id,
  });

  test.each(Object.entries(SERVICES))(
    'of one box is done by way of the proxy, at a service whose pages are %s',
    async (how, policy) => {
      let url = '';
      const services = () => ({ database: { url: null }, storage: null, agent: { url } });
      const box = await boxes.open({ options: { services, secretKey } });
      url = await box.listen();
      const plane = await startSignedIn({ SVC_RUNTIME_INTERNAL_URL: url });
      const write = (method: string, at: string, body: object) =>
        plane.ask(`/box/api/connections${at}`, {
          method,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const given = described();
      expect((await write('POST', '', given)).status).toBe(201);
      expect((await write('PUT', `/${given.id}/credential`, { clientSecret: CLIENT.secret })).status).toBe(200);
      const page = await open(`${plane.url}/studio/connections/${given.id}`, { cookie: plane.cookie });
      const other = await signIn(page, policy);
      if (how === 'open') await until(() => other.isClosed());
      else await other.getByText('You can close this window.').waitFor();
      await isDone(page);
      // The page at which the token came is one of the box, and holds nothing of the control plane.
      expect(await page.content()).not.toMatch(/access-|refresh-/);
    },
  );

  test.each(Object.entries(SERVICES))(
    'of the box of an organisation is done with an identity token, at a service whose pages are %s',
    async (how, policy) => {
      const plane = await startPlane();
      const ada = await signUpFirst(plane);
      const id = await addInstallation(plane, ada.cookie);
      const registration = { installationId: id, hmacSecret: SECRET };
      let url = '';
      const services = () => ({ database: { url: null }, storage: null, agent: { url } });
      const box = await openBox(boxes, {
        issuer: plane.url,
        installationId: id,
        registration,
        options: { services, secretKey },
      });
      url = await box.listen();
      const body = { url, hmacSecret: SECRET, imageTag: 'shop:1' };
      const link = async () =>
        (await ask(plane, `POST /api/v1/installations/${id}/deployments`, { ...ada, body })).status;
      await expect.poll(link, { timeout: 30_000 }).toBe(200);
      const page = await open(`${plane.url}/studio/connections?installation=${id}`, { cookie: ada.cookie });
      await page.getByRole('button', { name: 'New connection' }).click();
      const dialog = page.getByRole('dialog');
      const given = described();
      await dialog.getByLabel('Service').selectOption('custom');
      await dialog.getByLabel('Name', { exact: true }).fill(given.id);
      await dialog.getByLabel('Address of its API').fill(given.baseUrl);
      await dialog.getByLabel('Where a person signs in').fill(given.authorizationUrl);
      await dialog.getByLabel('Token endpoint').fill(given.tokenUrl);
      await dialog.getByLabel('Client id').fill(given.clientId);
      await dialog.getByRole('button', { name: 'Connect' }).click();
      await page.getByRole('button', { name: 'Set the credential' }).click();
      await dialog.getByLabel('Client secret').fill(CLIENT.secret);
      await dialog.getByRole('button', { name: 'Set', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      const other = await signIn(page, policy);
      if (how === 'open') await until(() => other.isClosed());
      else await other.getByText('You can close this window.').waitFor();
      await isDone(page);
      await page.context().close();
    },
  );
});
