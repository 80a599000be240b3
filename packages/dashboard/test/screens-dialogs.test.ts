import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeWhen } from '../../runtime/test/require.ts';
import { allowComplaint, browser, findViolations, keepPicture, openBrowser } from './_browser.ts';
import { serveFilledBox } from './_filled.ts';
import { listOverflows, OF_BOX, settle, show, showScreen } from './_screens.ts';

const DIALOG = 'dialog[open]';
const MENU = '[role=menu]';

describeWhen(browser, 'Every button of every screen', (path) => {
  const served = serveFilledBox();
  const open = openBrowser(path);

  test.each(OF_BOX.map((screen) => [screen.id, screen] as const))(
    'of %s: pressed twice it asks the box once, and a dialog that it opens is whole',
    { timeout: 300_000 },
    async (id, screen) => {
      const page = await open(served().studio('/setup'));
      // What is held ends with the page.
      allowComplaint(page, /Failed to load resource|net::ERR/);
      await showScreen(page, served().studio, screen);
      const writes = await holdWrites(page);
      const address = page.url();
      const faults: string[] = [];
      /** Presses what is asked for in a screen that is as it was, and looks at what that opens. */
      const press = async (way: readonly string[]): Promise<void> => {
        await show(page, address);
        writes.length = 0;
        for (const [at, name] of way.entries()) {
          const button = at === 0 ? buttons(page) : page.locator(MENU).getByRole('menuitem');
          const one = await find(button, name);
          if (!one) return;
          // A menu is opened by a click, and closed by the next.
          const isTwice = way.length === 1 && (await one.getAttribute('aria-haspopup')) !== 'menu';
          await (isTwice ? one.dblclick({ timeout: 5_000 }) : one.click({ timeout: 5_000 }));
        }
        await settle(page);
        const at = `${way.join(' > ')}: `;
        if (new Set(writes).size < writes.length) faults.push(`${at}asked twice: ${writes.join(', ')}`);
        if (page.url().split('?')[0] !== address.split('?')[0]) return;
        if (await page.locator(MENU).isVisible()) {
          const items = await page.locator(`${MENU} [role=menuitem]:not([aria-disabled=true])`).allInnerTexts();
          for (const item of items) await press([...way.slice(0, 1), item]);
          return;
        }
        if (!(await page.locator(DIALOG).isVisible())) return;
        faults.push(
          ...(
            await lookAtDialog(page, writes, `dialog-${id}-${way.join('-').replaceAll(/\W+/g, '-').slice(0, 40)}`)
          ).map((fault) => at + fault),
        );
      };
      for (const name of await namesOf(buttons(page))) await press([name]);
      expect(faults).toEqual([]);
    },
  );
});

// --- internal ---

const buttons = (page: Page): Locator => page.locator('main').getByRole('button', { disabled: false });

/** What is asked of the box beyond reading waits for good: so it is pressed while it goes on. */
async function holdWrites(page: Page): Promise<string[]> {
  const writes: string[] = [];
  await page.route('**/api/**', (asked) => {
    const request = asked.request();
    if (request.method() === 'GET') return asked.continue();
    writes.push(`${request.method()} ${new URL(request.url()).pathname} ${request.postData() ?? ''}`);
    return undefined;
  });
  return writes;
}

/** As far as it is needed of an element of a page. */
interface Named {
  textContent: string | null;
  getAttribute(name: string): string | null;
}

const listNames = (all: Locator): Promise<string[]> =>
  all.evaluateAll((elements) =>
    (elements as readonly Named[]).map((one) => (one.getAttribute('aria-label') || one.textContent || '').trim()),
  );

/** Of those that do the same to different things one. */
async function namesOf(all: Locator): Promise<string[]> {
  const names = await listNames(all);
  const kinds = new Map<string, string>();
  for (const name of names) {
    const kind = name
      .split(' ')
      .slice(0, 2)
      .join(' ')
      .replaceAll(/[\d:.]+/g, '');
    if (name !== '' && !kinds.has(kind)) kinds.set(kind, name);
  }
  return [...kinds.values()];
}

async function find(all: Locator, name: string): Promise<Locator | undefined> {
  const names = await listNames(all);
  const at = names.indexOf(name);
  return at < 0 ? undefined : all.nth(at);
}

async function lookAtDialog(page: Page, writes: string[], picture: string): Promise<string[]> {
  const faults: string[] = [];
  for (const [width, theme] of [
    [360, 'dark'],
    [1_440, 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 900 });
    await settle(page);
    const found = [...(await listOverflows(page)), ...(await findViolations(page))];
    faults.push(...found.map((fault) => `${width} ${theme}: ${fault}`));
    await keepPicture(page, `${picture}-${width}-${theme}`);
  }
  const dialog = page.locator(DIALOG).last();
  const last = dialog.getByRole('button', { disabled: false }).last();
  const name = (await last.count()) > 0 ? await last.innerText() : '';
  if (name !== '' && !/^(Cancel|Close)$/.test(name)) {
    writes.length = 0;
    await last.dblclick();
    await settle(page);
    if (new Set(writes).size < writes.length) faults.push(`${name} asked twice: ${writes.join(', ')}`);
  }
  if (await dialog.isVisible()) {
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached', timeout: 10_000 }).catch(() => faults.push('Escape does not close it'));
    if (await page.evaluate<boolean>('document.activeElement === document.body')) faults.push('The focus is nowhere');
  }
  return faults;
}
