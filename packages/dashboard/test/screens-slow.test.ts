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
    const page = await open(served().studio('/setup'), { width: 1_440 });
    await showScreen(page, served().studio, screen);
    const address = page.url();
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 300,
      downloadThroughput: 400_000 / 8,
      uploadThroughput: 400_000 / 8,
    });
    await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    await page.addInitScript(WATCH);
    await page.goto(address);
    await settle(page);
    const shifts = await page.evaluate<[number, string][]>('window.svcShifts');
    const sum = shifts.reduce((all, [value]) => all + value, 0);
    expect(sum < MOST_SHIFT ? [] : shifts).toEqual([]);
  });
});
