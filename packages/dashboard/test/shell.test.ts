import { beforeAll, beforeEach, expect, test } from 'vitest';
import { createDashboard } from '../../control-plane/src/dashboard/dashboard.ts';
import { OWNER } from '../../runtime/src/auth/caller.ts';
import { BoxError } from '../../runtime/src/errors.ts';
import { setupBoxes } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

describeWhen(browser, 'What stands around every screen', (path) => {
  const boxes = setupBoxes();
  const open = openBrowser(path);
  let isSignedIn = true;
  let url: string;
  beforeAll(async () => {
    const box = await boxes.share({
      workflows: { greet: { run: async () => 1 } },
      options: {
        strategy: {
          name: 'a session',
          checksKeys: false,
          async authenticate() {
            if (!isSignedIn) throw new BoxError('unauthorized', 'You are not signed in.');
            return OWNER;
          },
        },
      },
    })();
    // As behind the proxy of a control plane, whose cookie ends.
    const dashboard = createDashboard({
      bootstrap: () => ({
        place: 'standalone',
        box: '',
        name: 'shop',
        caller: { id: 'operator', name: 'operator', role: 'owner' },
      }),
    });
    box.app.on('GET', '/studio/**', async ({ req }) => (await dashboard(req)) ?? new Response(null, { status: 404 }));
    box.app.get('/login', () => new Response('<h1>Sign in</h1>', { headers: { 'content-type': 'text/html' } }));
    url = `${await box.listen()}/studio`;
  });
  beforeEach(() => void (isSignedIn = true));

  test('a session that ends is said once, with where to sign in, and the page goes on when it is back', async () => {
    const page = await open(`${url}/runs`);
    allowComplaint(page, /401/);
    await page.getByText('Nothing has run yet').waitFor();
    isSignedIn = false;
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    const note = page.getByText('You are not signed in any more');
    await note.waitFor();
    const alert = page.getByRole('alert');
    await alert.getByText('unauthorized').waitFor();
    const next = '/login?next=%2Fstudio%2Fsessions';
    expect(await alert.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe(next);
    expect(await page.getByRole('status').getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe(next);
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect(await listBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await isTooWide(page)).toBe(false);
    await keepPicture(page, 'session-over-narrow');
    await page.setViewportSize({ width: 1_440, height: 900 });
    // In another tab.
    isSignedIn = true;
    await page.getByRole('link', { name: 'Workflows', exact: true }).click();
    await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
    await note.waitFor({ state: 'detached' });
    await page.goBack();
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  });

  test('a part of an older build that is gone reloads the page, and says so where that does not help', async () => {
    const page = await open(`${url}/health`);
    allowComplaint(page, /404|Failed to load resource|dynamically imported module/);
    await page.getByRole('heading', { name: 'Health', exact: true }).waitFor();
    await page.evaluate('window.isOld = true');
    let isGone = true;
    await page.route('**/assets/sessions-*.js', (asked) =>
      isGone ? asked.fulfill({ status: 404 }) : asked.continue(),
    );
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.getByRole('alert').getByText('page_outdated').waitFor();
    // It was reloaded once, by itself.
    expect(await page.evaluate('window.isOld')).toBeUndefined();
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'page-outdated');
    isGone = false;
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor();
  });

  test('a person who goes to another screen goes on at its beginning, which a reader names', async () => {
    const page = await open(`${url}/health`);
    await page.getByRole('heading', { name: 'Health', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Runs', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.getByRole('main', { name: 'Runs' }).and(page.locator(':focus')).waitFor();
    // A filter is no other screen: who types in it stays in it.
    const field = page.getByRole('searchbox', { name: 'Agent or workflow' });
    await field.fill('greet');
    await page.waitForURL(/name=greet/);
    expect(await field.evaluate((element) => element.ownerDocument.activeElement === element)).toBe(true);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Screen, agent, workflow, run or id' }).fill('config');
    await page.getByRole('option', { name: /Config/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('main', { name: 'Config' }).and(page.locator(':focus')).waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });
});
