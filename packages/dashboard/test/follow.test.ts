import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineDynamicConfig } from '../../runtime/src/config-values/define.ts';
import { call } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { serveBox } from './_box.ts';
import { browser, openBrowser } from './_browser.ts';

describeWhen(browser, 'What others change meanwhile', (path) => {
  const served = serveBox({
    config: defineDynamicConfig({ maxRefund: z.number().max(100).default(50) }),
  });
  const open = openBrowser(path);

  test('is shown by the page of another person, as soon as it is changed', async () => {
    const { studio } = served();
    const watcher = await open(studio('/config'));
    const trail = await open(studio('/activity'));
    const writer = await open(studio('/config?key=maxRefund'));
    await watcher.getByRole('row', { name: /maxRefund.*50/ }).waitFor();
    await trail.getByText('Nothing was changed yet').waitFor();
    const dialog = writer.getByRole('dialog', { name: 'maxRefund' });
    await dialog.getByRole('textbox').fill('75');
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await watcher.getByRole('row', { name: /maxRefund.*75/ }).waitFor();
    await trail.getByRole('row', { name: /config\.set/ }).waitFor();
  });

  test.each([
    ['PUT /api/secrets/TOKEN', { value: 'never' }, '/secrets', 'TOKEN'],
    ['POST /api/keys', { name: 'Of the till', client: 'shop' }, '/keys', 'Of the till'],
    [
      'POST /api/guardrails',
      { name: 'No cards', check: { kind: 'injection' }, sides: ['tool-result'], action: 'block' },
      '/guardrails',
      'No cards',
    ],
  ])('%s is shown where it is listed', async (route, body, screen, text) => {
    const page = await open(served().studio(screen));
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page
      .locator('main')
      .getByText(/^There is no /)
      .first()
      .waitFor();
    expect((await call(served().box, route, body)).status).toBeLessThan(300);
    await page.getByText(text, { exact: true }).first().waitFor();
  });

  test('a page of a box in which nothing happens asks it nothing, for as long as it is open', async () => {
    const { box, studio } = served();
    await call(box, 'PUT /api/settings/copilot', { enabled: true });
    const page = await open(studio('/'));
    await page.clock.install();
    for (const screen of ['/', '/config', '/memory', '/settings', '/connections', '/health']) {
      await page.goto(studio(screen));
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      await page.keyboard.press('Control+.');
      await page.getByRole('complementary', { name: 'Copilot' }).waitFor();
      await settle(page);
      const asked = listRequests(page);
      // Below the time after which a stream without a heartbeat is opened again: the heartbeats come by another clock.
      await page.clock.runFor(45_000);
      expect([screen, ...asked()]).toEqual([screen]);
    }
    await call(box, 'PUT /api/settings/copilot', { enabled: false });
  });
});

// --- internal ---

/** Until all that the screen asks for first is there: nothing has been asked for a while. */
async function settle(page: Page): Promise<void> {
  let before = -1;
  await expect
    .poll(
      async () => {
        await page.clock.runFor(400);
        const now = Number(await page.evaluate('performance.getEntriesByType("resource").length'));
        const isSame = now === before;
        before = now;
        return isSame;
      },
      { interval: 200 },
    )
    .toBe(true);
}

function listRequests(page: Page): () => string[] {
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  return () => asked;
}
