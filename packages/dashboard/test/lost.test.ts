import { expect, test } from 'vitest';
import { startWorkflow } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { SPOKEN } from '../src/api/contract.ts';
import { serveBox } from './_box.ts';
import { allowComplaint, browser, isTooWide, keepPicture, listBarriers, openBrowser } from './_browser.ts';
import { openCut } from './_cut.ts';

describeWhen(browser, 'A box that is away, or of another version', (path) => {
  const served = serveBox({ workflows: { greet: { run: async () => 1 } } });
  const open = openBrowser(path);

  test('a lost connection is said while it lasts, and what happened meanwhile is shown when it is back', async () => {
    const way = await openCut(served().url);
    const page = await open(`${way.url}/studio/runs`);
    allowComplaint(page, /Failed to load resource|net::ERR/);
    await page.getByText('Nothing has run yet').waitFor();
    way.cut();
    const note = page.getByText('The connection to the box is lost');
    await note.waitFor();
    expect(await listBarriers(page)).toEqual([]);
    await startWorkflow(served().box, 'greet');
    expect(await page.getByRole('link', { name: 'greet', exact: true }).count()).toBe(0);
    way.heal();
    await page.getByRole('link', { name: 'greet', exact: true }).waitFor();
    await note.waitFor({ state: 'detached' });
  });

  test.each([
    ['an older', SPOKEN - 1, 'What the box does not have yet says so'],
    ['a newer', SPOKEN + 1, 'What is new in the box is not shown'],
  ])('%s box is told as such, and what it does not have is a sentence on its screen', async (_, version, text) => {
    const { studio } = served();
    const page = await open(studio('/health'), { width: 390, theme: 'dark' });
    allowComplaint(page, /404/);
    await page.getByText('secrets.read_write', { exact: true }).waitFor();
    expect(await page.getByRole('note').count()).toBe(0);
    await page.route('**/api/contract', async (asked) => {
      const answer = await asked.fetch();
      await asked.fulfill({ response: answer, json: { ...((await answer.json()) as object), version } });
    });
    const body = { code: 'not_found', message: 'There is no route GET here.', requestId: 'req-1' };
    for (const missing of ['**/api/activity?*', '**/api/activity', '**/api/runs/stats?*'])
      await page.route(missing, (asked) => asked.fulfill({ status: 404, json: body }));
    await page.goto(studio('/activity'));
    await page.getByRole('note').getByText(text).waitFor();
    await page.getByRole('heading', { name: 'Activity', exact: true }).waitFor();
    await page.getByRole('alert').getByText('not_found').waitFor();
    expect(await isTooWide(page)).toBe(false);
    expect(await listBarriers(page)).toEqual([]);
    await keepPicture(page, `contract-${version < SPOKEN ? 'older' : 'newer'}`);
    // What it has works.
    await page.goto(studio('/'));
    await page.getByRole('alert').getByText('not_found').waitFor();
    await page.getByText('Nothing waits for a decision').waitFor();
    expect(await listBarriers(page)).toEqual([]);
  });
});
