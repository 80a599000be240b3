import { expect, test } from 'vitest';
import { call } from '../../runtime/test/_setup.ts';
import type { TestBox } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { browser, openBrowser } from './_browser.ts';
import { serveFilledBox } from './_filled.ts';
import { OF_BOX, settle, show, showScreen } from './_screens.ts';

/** The screen of an item, what is pressed there, and where that leads. */
const DELETED: readonly [screen: string, pressed: readonly RegExp[], to: string][] = [
  ['run', [/^More$/, /^Delete…$/], '/runs'],
  ['session', [/^Delete$/], '/sessions'],
  ['prompt', [/^More$/, /^Delete$/], '/prompts'],
  ['collection', [/^More$/, /^Delete$/], '/knowledge'],
  ['connection', [/^Delete$/], '/connections'],
  ['trigger', [/^More$/, /^Delete$/], '/triggers'],
  ['eval-suite', [/^Delete$/], '/evals'],
];

describeWhen(browser, 'After the delete of an item', (path) => {
  const served = serveFilledBox();
  const open = openBrowser(path);

  test.each(DELETED)('of %s, back leads to where its screen was come from', async (id, pressed, to) => {
    const { box, studio } = served();
    const screen = OF_BOX.find((one) => one.id === id);
    if (!screen) throw new Error(`There is no screen ${id}.`);
    const page = await open(studio('/health'));
    page.setDefaultTimeout(20_000);
    const wanted = await find(box, id);
    if (wanted === undefined) await showScreen(page, studio, screen);
    else await show(page, studio(screen.path.replace('$id', wanted)));
    const item = new URL(page.url()).pathname;
    // Whoever has looked at its tabs has come by more of its addresses.
    const tabs = page.getByRole('tab');
    if ((await tabs.count()) > 1) await tabs.nth(1).click();
    for (const [at, name] of pressed.entries())
      await (at === 0 ? page.locator('main').getByRole('button', { name }) : page.getByRole('menuitem', { name }))
        .first()
        .click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Delete/ })
      .click();
    await page.waitForURL((url) => url.pathname.endsWith(to));
    await settle(page);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.goBack();
    await settle(page);
    expect(new URL(page.url()).pathname).not.toBe(item);
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});

// --- internal ---

/** One that is over, where the newest is not. */
async function find(box: TestBox, screen: string): Promise<string | undefined> {
  if (screen === 'run')
    return (await call<{ items: { runId: string }[] }>(box, 'GET /api/runs?name=order')).body.items[0]?.runId;
  if (screen !== 'session') return undefined;
  const { items } = (await call<{ items: { sessionId: string; name: string }[] }>(box, 'GET /api/sessions')).body;
  return items.find(({ name }) => name === 'first')?.sessionId;
}
