import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { call } from '../../runtime/test/_setup.ts';
import { describeWhen } from '../../runtime/test/require.ts';
import { browser, openBrowser } from './_browser.ts';
import { serveFilledBox } from './_filled.ts';
import { OF_BOX, settle, show, showScreen } from './_screens.ts';

/** The screen, what is pressed there one after the other, and what the address says of the dialog that is open then. */
const DIALOGS: readonly [screen: string, pressed: readonly RegExp[], name: string][] = [
  ['keys', [/^Change /], 'open'],
  ['keys', [/^Rotate /], 'rotate'],
  ['keys', [/^Revoke /], 'revoke'],
  ['secrets', [/^Delete /], 'delete'],
  ['guardrails', [/^Change /], 'change'],
  ['guardrails', [/^More of /, /^Delete$/], 'delete'],
  ['collection', [/^Add a document$/], 'add'],
  ['collection', [/^More$/, /^Change$/], 'change'],
  ['collection', [/^More$/, /^Re-embed$/], 'reindex'],
  ['collection', [/^More$/, /^Delete$/], 'delete'],
  ['collection', [/^Delete leave$/], 'drop'],
  ['connection', [/^Set the credential$/], 'credential'],
  ['connection', [/^Delete$/], 'delete'],
  ['trigger', [/^Change$/], 'change'],
  ['trigger', [/^More$/, /^Rotate the secret$/], 'secret'],
  ['trigger', [/^More$/, /^Delete$/], 'delete'],
  ['prompt', [/^More$/, /^Rename$/], 'rename'],
  ['prompt', [/^More$/, /^Delete$/], 'delete'],
  ['eval-suite', [/^Launch$/], 'launch'],
  ['eval-suite', [/^Change$/], 'change'],
  ['eval-suite', [/^Delete$/], 'delete'],
  ['session', [/^Delete$/], 'delete'],
  ['run', [/^More$/, /^Fork from the start…$/], 'fork'],
  ['run', [/^More$/, /^Delete…$/], 'delete'],
  ['workflows', [/^Send an event$/], 'event'],
  ['workflow', [/^Start many…$/], 'many'],
  ['storage', [/^Move readme$/], 'move'],
  ['storage', [/^Delete readme$/], 'delete'],
  ['storage', [/^Delete receipts/], 'empty'],
];

describeWhen(browser, 'A dialog of a screen', (path) => {
  const served = serveFilledBox();
  const open = openBrowser(path);
  const searchOf = (page: Page) => new URL(page.url()).searchParams;
  /** The newest of a workflow: among all the runs of evals are newer. */
  const findRun = async (name: string) =>
    (await call<{ items: { runId: string }[] }>(served().box, `GET /api/runs?name=${name}`)).body.items[0]?.runId;
  const press = async (page: Page, pressed: readonly RegExp[]) => {
    for (const [at, name] of pressed.entries())
      await (at === 0 ? page.locator('main').getByRole('button', { name }) : page.getByRole('menuitem', { name }))
        .first()
        .click();
  };

  test.each(DIALOGS)('of %s, pressed %o, is in the address as "%s"', async (id, pressed, name) => {
    const screen = OF_BOX.find((one) => one.id === id);
    if (!screen) throw new Error(`There is no screen ${id}.`);
    const page = await open(served().studio('/health'));
    if (id === 'run') await show(page, served().studio(`/runs/${await findRun('order')}`));
    else await showScreen(page, served().studio, screen);
    const before = page.url();
    await press(page, pressed);
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    const title = await dialog.getByRole('heading').first().innerText();
    expect([...searchOf(page).keys()]).toContain(name);
    await page.reload();
    await page.getByRole('dialog', { name: title }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(page.url()).toBe(before);
    // What was cancelled has left no step behind that leads nowhere.
    await page.goBack();
    await page.waitForURL((url) => url.href !== before);
    await page.goForward();
    await page.waitForURL(before);
    expect(await dialog.count()).toBe(0);
  });

  test('opened by its address alone is closed to its screen, and refused to who may not', async () => {
    const { studio } = served();
    const page = await open(studio('/secrets?rotate=BANK_KEY_OF_THE_SHOP_AT_THE_CORNER'));
    await page.getByRole('dialog', { name: /^Rotate BANK_KEY/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(searchOf(page).size).toBe(0);
    await show(page, studio('/keys?revoke=00000000-0000-4000-8000-000000000000'));
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('left while it is slow navigates no one away once it is done, and a double click sends it once', async () => {
    const { studio, box } = served();
    const page = await open(studio('/health'));
    await page.getByRole('link', { name: 'Prompts', exact: true }).click();
    await page.getByRole('button', { name: 'New prompt' }).click();
    const dialog = page.getByRole('dialog', { name: 'New prompt' });
    await dialog.getByLabel('Of', { exact: true }).selectOption('workspace');
    await dialog.getByLabel('Key').fill('slow');
    await dialog.getByLabel('Name').fill('The slow one');
    await dialog.getByLabel('Text').fill('Good day.');
    let goOn = (): void => {};
    const isHeld = new Promise<void>((resolve) => (goOn = resolve));
    let asked = 0;
    await page.route('**/api/prompts', async (request) => {
      if (request.request().method() !== 'POST') return request.continue();
      asked += 1;
      await isHeld;
      return request.continue();
    });
    await dialog.getByRole('button', { name: 'Create' }).dblclick();
    await expect.poll(() => asked).toBe(1);
    await page.goBack();
    await dialog.waitFor({ state: 'detached' });
    goOn();
    await page.getByRole('link', { name: 'The slow one' }).waitFor();
    await settle(page);
    expect([asked, new URL(page.url()).pathname.endsWith('/prompts'), searchOf(page).size]).toEqual([1, true, 0]);
    await page.goBack();
    await page.getByRole('heading', { name: 'Health' }).waitFor();
    const { items } = (await call<{ items: { name: string }[] }>(box, 'GET /api/prompts')).body;
    expect(items.filter(({ name }) => name === 'The slow one')).toHaveLength(1);
  });
});
