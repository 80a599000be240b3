import { expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';

describeWhen(browser, 'Health', (path) => {
  const served = serveBox();
  const open = openBrowser(path);

  test('shows the probes, the contract and the addresses of the box', async () => {
    const page = await open(served().studio('/health'));
    await page.getByRole('heading', { name: 'Health', exact: true }).waitFor();
    await page.getByText('ready', { exact: true }).waitFor();
    await page.getByText('secrets.read_write', { exact: true }).waitFor();
    expect(await page.title()).toBe('Health · test-box');
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'health');
  });

  test('is asked again by a person, at each visit, and says when it was asked', async () => {
    const page = await open(served().studio('/health'));
    await page.getByText('ready', { exact: true }).waitFor();
    let isBad = true;
    await page.route('**/health', async (asked) => {
      if (!isBad || asked.request().isNavigationRequest()) return asked.fallback();
      const answer = await asked.fetch();
      const body = (await answer.json()) as { checks: object };
      const checks = { ...body.checks, database: { status: 'failed', reason: 'It does not answer.' } };
      return asked.fulfill({ response: answer, json: { ...body, status: 'degraded', checks } });
    });
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByText('not ready', { exact: true }).waitFor();
    await page.getByText('It does not answer.').waitFor();
    await page.getByText(/^asked now$/).waitFor();
    expect(await listBarriers(page)).toEqual([]);
    // Before what was answered is old.
    isBad = false;
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByText('The box is ready').waitFor();
  });

  test('is for the dark and for a narrow screen too', async () => {
    const page = await open(served().studio('/health'), { width: 360, theme: 'dark' });
    await page.getByText('secrets.read_write', { exact: true }).waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'health-narrow-dark');
  });
});
