import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { findViolations, keepPicture } from './_browser.ts';

/** As the table of the dashboard has it. */
interface Screen {
  id: string;
  /** Below `/studio`; `$name` is a parameter. */
  path: string;
  title: string;
  places?: readonly string[];
}

/** By an address: what the table leads to is made of elements, and tests are checked without the types of a page. */
const TABLE = new URL('../src/app/screens.ts', import.meta.url).href;
const { SCREENS } = (await import(TABLE)) as { SCREENS: readonly Screen[] };

/** The screens that a box alone can show. */
export const OF_BOX = SCREENS.filter(({ places }) => places === undefined);

/** Opens a screen as a person would come to it: one of an item by the first link of the screen that lists it. */
export async function showScreen(page: Page, studio: (path: string) => string, screen: Screen): Promise<void> {
  const [list = ''] = screen.path.split('/$');
  if (list === screen.path) return show(page, studio(screen.path));
  // The suites and the runs of evals are listed by one screen.
  await show(page, studio(`/${list.split('/')[1]}`));
  const links = await page.evaluate<string[]>(`[...document.querySelectorAll('main a')].map(({ href }) => href)`);
  const found = links.find((link) => link.startsWith(`${studio(list)}/`));
  if (found === undefined) throw new Error(`Nothing leads to ${screen.path}.`);
  await show(page, found);
}

/** Opens a screen, and waits until it has all that it asks for. */
export async function show(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await settle(page);
}

/** Waits until nothing loads any more, and what is shown stays as it is. */
export async function settle(page: Page): Promise<void> {
  let before = '';
  await expect
    .poll(
      async () => {
        const now = await page.evaluate<string>(STATE);
        const isSame = now === before && !now.startsWith('loading');
        before = now;
        return isSame;
      },
      { timeout: 30_000, interval: 40 },
    )
    .toBe(true);
}

/** What stands over an edge of the page, or is cut off by one. */
export function listOverflows(page: Page): Promise<string[]> {
  return page.evaluate(OVERFLOWS);
}

/**
 * Goes through the page by Tab alone; answers what a person could use by a pointer and never came to, and what had the focus
 * without showing it.
 */
export async function listUnreached(page: Page): Promise<string[]> {
  const most = 8 * (await page.evaluate<number>(WATCH_FOCUS)) + 8;
  // A field of a time has a stop for each of its parts.
  for (let n = 0; n < most; n += 1) {
    await page.keyboard.press('Tab');
    if (n % 8 === 7 && (await page.evaluate<string[]>(UNREACHED)).length === 0) break;
  }
  return page.evaluate(UNREACHED);
}

/** How a screen is looked at. */
export interface Look {
  width: number;
  theme: 'light' | 'dark';
}

/** What is wrong with the screen that is shown, by the looks it is given: what is too wide, what axe finds, what has no keyboard. */
export async function listFaults(page: Page, name: string, looks: readonly Look[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { width, theme } of looks) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 900 });
    await settle(page);
    const found = [...(await listOverflows(page)), ...(await findViolations(page))];
    faults.push(...found.map((fault) => `${width} ${theme}: ${fault}`));
    await keepPicture(page, `${name}-${width}-${theme}`);
  }
  return [...faults, ...(await listUnreached(page))];
}

// --- internal ---

const STATE = `(() => {
  const main = document.querySelector('main');
  const isLoading = !main?.querySelector('h1') || main.querySelector('[role=status][aria-label=Loading]');
  return (isLoading ? 'loading ' : '') + performance.getEntriesByType('resource').length + ' ' + document.body.innerHTML.length;
})()`;

const HELPERS = `
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  const describe = (element) => element.tagName.toLowerCase() + ' ' +
    (element.getAttribute('aria-label') || element.textContent || element.getAttribute('name') || '').trim().slice(0, 60);
`;

const OVERFLOWS = `(() => {
  ${HELPERS}
  const { scrollWidth, clientWidth } = document.documentElement;
  const found = scrollWidth > clientWidth ? ['page ' + scrollWidth + ' > ' + clientWidth] : [];
  const scrolls = (element) => {
    for (let at = element.parentElement; at; at = at.parentElement)
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(at).overflowX) && at !== document.body) return true;
    return false;
  };
  for (const element of document.querySelectorAll('main *, dialog *')) {
    if (!isSeen(element) || scrolls(element) || getComputedStyle(element).position === 'fixed') continue;
    const { left, right, width } = element.getBoundingClientRect();
    if (width > 1 && (right > clientWidth + 1 || left < -1)) found.push(describe(element));
  }
  return found;
})()`;

const WATCH_FOCUS = `(() => {
  ${HELPERS}
  const root = document.querySelector('dialog[open]') ?? document.querySelector('main');
  // Of a group that arrows go through one has the focus, or the group itself.
  const inGroup = (element) => element.closest('[role=tree],[role=tablist],[role=radiogroup],[role=menu],[role=listbox],[role=grid]');
  const wanted = [...root.querySelectorAll('a[href],button,input,select,textarea,summary,[tabindex="0"]')].filter(
    (element) => isSeen(element) && !element.disabled && !element.closest('[inert]') && !(element.tabIndex < 0 && inGroup(element))
      && !(element.tabIndex < 0 && element.parentElement.closest('[tabindex="0"]'))
      && !(element.type === 'radio' && !element.checked),
  );
  const seen = (window.svcSeen = { wanted, reached: new Set(), bare: [] });
  document.addEventListener('focusin', ({ target }) => {
    if (seen.reached.has(target)) return;
    seen.reached.add(target);
    if (target === root || !root.contains(target)) return;
    const isShown = (element) => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
      return (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1) || boxShadow !== 'none';
    };
    // A group passes the focus on to one of its own.
    setTimeout(() => {
      if (document.activeElement !== target || isShown(target) || isShown(target.parentElement)) return;
      seen.bare.push('no focus to be seen: ' + describe(target));
    });
  });
  root.focus?.();
  if (root.tagName === 'MAIN' && document.activeElement !== root) { root.tabIndex = -1; root.focus(); }
  return wanted.length;
})()`;

const UNREACHED = `(() => {
  ${HELPERS}
  const { wanted, reached, bare } = window.svcSeen;
  return [...wanted.filter((element) => !reached.has(element)).map((element) => 'not reached: ' + describe(element)), ...bare];
})()`;
