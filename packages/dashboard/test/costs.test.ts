import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { ModelPrices } from '../../runtime/src/limits/prices.ts';
import { createAgent } from '../../runtime/test/_agui.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { call, getRun } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { serveBox } from './_box.ts';
import { browser, isTooWide, listBarriers, openBrowser } from './_browser.ts';

/** A token costs less than what a number is written out with by itself. */
const PRICE = { inputPerMillion: 0.15, outputPerMillion: 0.6 };
const prices: ModelPrices = {};

/** A turn in a session of its own; answers both. */
async function say(box: TestBox, owner: string): Promise<{ sessionId: string; runId: string }> {
  await call(
    box,
    'POST /wire-a/v1/chat/completions',
    { model: 'helper', messages: [{ role: 'user', content: 'say:Hello.' }] },
    { authorization: 'Bearer dev', 'x-svc-session': owner },
  );
  const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
  if (!run?.sessionId) throw new Error('The turn has no session.');
  return { sessionId: run.sessionId, runId: run.runId };
}

/** What the page shows under that name. */
const factOf = (page: Page, name: string) =>
  page.locator('dl > div', { has: page.getByText(name, { exact: true }) }).locator('dd');

describeWhen(browser, 'what models cost', (path) => {
  const served = serveBox({ agents: { helper: createAgent() }, options: { prices: () => prices } });
  const open = openBrowser(path);

  test('stands on the screen of a run and on that of its session', async () => {
    const { box, studio } = served();
    prices['test/scripted'] = PRICE;
    const { sessionId, runId } = await say(box, 'priced');
    const cost = (await getRun(box, runId)).cost as number;
    expect(cost).toBeGreaterThan(0);
    const written = cost.toFixed(9).replace(/0+$/, '');
    for (const screen of [`/runs/${runId}`, `/sessions/${sessionId}`]) {
      const page = await open(studio(screen));
      await factOf(page, 'Cost').waitFor();
      expect([screen, await factOf(page, 'Cost').innerText()]).toEqual([screen, written]);
      if (screen.startsWith('/sessions')) {
        const turn = page.getByRole('region', { name: 'Turn' });
        await turn.getByText(/^[\d,]+ tokens in, [\d,]+ out$/).waitFor();
        await turn.getByText(`cost ${written}`, { exact: true }).waitFor();
      }
      expect(await listBarriers(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await isTooWide(page)).toBe(false);
    }
  });

  test('stands on neither where no model had a price', async () => {
    const { box, studio } = served();
    delete prices['test/scripted'];
    const { sessionId, runId } = await say(box, 'free');
    for (const screen of [`/runs/${runId}`, `/sessions/${sessionId}`]) {
      const page = await open(studio(screen));
      await factOf(page, 'Tokens').waitFor();
      expect([screen, await factOf(page, 'Cost').count()]).toEqual([screen, 0]);
      expect(await page.getByText(/^cost /).count()).toBe(0);
    }
  });
});
