import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { browser, openBrowser } from './_browser.ts';
import { serveFilledBox } from './_filled.ts';
import { OF_BOX, settle, showScreen } from './_screens.ts';

/** Above it a page is felt to jump. */
const MOST_SHIFT = 0.1;

const WATCH = `(() => {
  window.svcShifts = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput) window.svcShifts.push([value, sources.map(({ node }) => node?.outerHTML?.slice(0, 80)).join(' | ')]);
  }).observe({ type: 'layout-shift', buffered: true });
})()`;

describeWhen(browser, 'On a slow line and a slow machine', (path) => {
  const served = serveFilledBox();
  const open = openBrowser(path);

  test.each(OF_BOX.map((screen) => [screen.id, screen] as const))('%s does not jump as it loads', async (_, screen) => {
    for (const width of [1_440, 360]) {
      const page = await open(served().studio('/setup'), { width });
      await showScreen(page, served().studio, screen);
      const address = page.url();
      await slowDown(page);
      await page.addInitScript(WATCH);
      const isIdle = watchRequests(page);
      await page.goto(address);
      await expect.poll(isIdle, { timeout: 60_000, interval: 40 }).toBe(true);
      await settle(page);
      const shifts = await page.evaluate<[number, string][]>('window.svcShifts');
      const sum = shifts.reduce((all, [value]) => all + value, 0);
      expect([width, ...(sum < MOST_SHIFT ? [] : shifts)]).toEqual([width]);
      await page.context().close();
    }
  });
});

// --- internal ---

/** As a telephone in a train: each answer after 300 ms, 50 kB a second, a processor of a quarter of the speed. */
async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 300,
    downloadThroughput: 400_000 / 8,
    uploadThroughput: 400_000 / 8,
  });
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
}

/** Whether the page has asked, and has all it has asked for; the stream of events has no end. */
function watchRequests(page: Page): () => boolean {
  let open = 0;
  let asked = 0;
  const change = (by: number) => (request: { url(): string }) => {
    if (request.url().includes('/api/events')) return;
    open += by;
    if (by > 0) asked += 1;
  };
  page.on('request', change(1));
  page.on('requestfinished', change(-1));
  page.on('requestfailed', change(-1));
  return () => asked > 0 && open === 0;
}
