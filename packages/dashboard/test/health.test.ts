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

  test('is for the dark and for a narrow screen too', async () => {
    const page = await open(served().studio('/health'), { width: 360, theme: 'dark' });
    await page.getByText('secrets.read_write', { exact: true }).waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, 'health-narrow-dark');
  });
});
