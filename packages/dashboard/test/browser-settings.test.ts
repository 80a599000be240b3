import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { BrowserInfo } from '../../runtime/src/browser/change.ts';
import { startCdpBrowser, startCdpProxy } from '../../runtime/test/_cdp-browser.ts';
import { call } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

const KEY = 'a-key-of-a-browser';

describeWhen(browser, 'The settings of the browser', (path) => {
  const chromium = startCdpBrowser(path);
  const served = serveBox();
  const fixed = serveBox(() => ({ options: { browser: { url: 'http://127.0.0.1:9', apiKey: KEY } } }));
  const open = openBrowser(path);
  const card = (page: Page) =>
    page.locator('section').filter({ has: page.getByRole('heading', { name: 'Browser', exact: true }) });
  const read = async () => (await call<BrowserInfo>(served().box, 'GET /api/browser')).body;

  test('none is set, one is set with its key and answers, its limits change, and it is removed', async () => {
    const proxy = await startCdpProxy(chromium.port, ({ headers }) => headers.authorization === `Bearer ${KEY}`);
    const page = await open(served().studio('/settings'));
    allowComplaint(page, /400/);
    await page.getByText('None is set: agents and workflows open no pages.').waitFor();
    const form = page.getByRole('form', { name: 'Set the browser' });
    const submit = form.getByRole('button', { name: 'Set the browser' });
    expect(await submit.isDisabled()).toBe(true);
    expect(await listBarriers(page)).toEqual([]);
    await form.getByLabel('Address').fill('ftp://127.0.0.1');
    await submit.click();
    await form.getByText('browser_url_invalid').waitFor();
    await form.getByLabel('Address').fill(proxy.url);
    await form.getByLabel('Key of the browser').fill(KEY);
    await submit.press('Enter');
    await page.getByText('answers', { exact: true }).waitFor();
    await card(page).getByText('with a key', { exact: true }).waitFor();
    await keepPicture(page, 'browser-set');
    const { url } = await read();
    expect(url).toBe(proxy.url);
    expect(await page.content()).not.toContain(KEY);
    expect(await form.getByLabel('Key of the browser').inputValue()).toBe('');

    const limits = page.getByRole('form', { name: 'Limits of the browser' });
    await page.getByText('Limits', { exact: true }).press('Enter');
    await limits.getByLabel('Sessions at once').fill('two');
    expect(await limits.getByRole('button', { name: 'Save the limits' }).isDisabled()).toBe(true);
    await limits.getByLabel('Sessions at once').fill('2');
    await limits.getByLabel('Hosts that pages may ask').fill('*.example.com\nexample.com');
    expect(await listBarriers(page)).toEqual([]);
    await limits.getByRole('button', { name: 'Save the limits' }).press('Enter');
    await page.getByText(/Up to 2 sessions of 5 pages each.*\*\.example\.com, example\.com/).waitFor();
    expect(await read()).toMatchObject({
      url,
      hasKey: true,
      limits: { sessions: 2, pages: 5 },
      allowedHosts: ['*.example.com', 'example.com'],
    });

    await page.getByRole('button', { name: 'Remove the browser' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('None is set: agents and workflows open no pages.').waitFor();
    expect(await read()).toMatchObject({ url: null, hasKey: false });
  });

  test('one that answers says so, and one that does not says why', async () => {
    const page = await open(served().studio('/settings'));
    const form = page.getByRole('form', { name: 'Set the browser' });
    await form.getByLabel('Address').fill(chromium.url);
    await form.getByRole('button', { name: 'Set the browser' }).click();
    await page.getByText('answers', { exact: true }).waitFor();
    await card(page).getByText('without a key', { exact: true }).waitFor();
    await keepPicture(page, 'browser-answers');
    await form.getByLabel('Address').fill('http://127.0.0.1:9');
    await form.getByRole('button', { name: 'Set the browser' }).click();
    await page.getByText('does not answer', { exact: true }).waitFor();
    await page.getByText('The browser cannot be reached. Nothing listens at the address.').waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });

  test('one of the environment is shown, and only its limits are set here', async () => {
    const page = await open(fixed().studio('/settings'));
    await card(page).getByText('from the environment', { exact: true }).waitFor();
    await page.getByText('http://127.0.0.1:9').waitFor();
    expect(await page.getByRole('form', { name: 'Set the browser' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Remove the browser' }).count()).toBe(0);
    expect(await page.getByText('Limits', { exact: true }).count()).toBe(1);
    expect(await page.content()).not.toContain(KEY);
  });

  test.each(['dark', 'narrow'] as const)('is whole on a %s page', async (how) => {
    const page = await open(
      served().studio('/settings'),
      how === 'dark' ? { theme: 'dark' } : { width: 390, height: 844 },
    );
    await page.getByText('does not answer', { exact: true }).waitFor();
    await page.getByText('How it is sent the key').click();
    await page.getByText('Limits', { exact: true }).click();
    await page.getByRole('form', { name: 'Set the browser' }).scrollIntoViewIfNeeded();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, `browser-${how}`);
  });
});
