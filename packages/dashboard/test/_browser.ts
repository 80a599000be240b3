import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';

export { browser } from '../../runtime/test/_browser.ts';

export interface PageOptions {
  width?: number;
  height?: number;
  theme?: 'light' | 'dark';
  /** It has a screen that fingers touch. Default false. */
  hasTouch?: boolean;
  /** `name=value` of who is signed in. */
  cookie?: string;
}

export type OpenPage = (url: string, options?: PageOptions) => Promise<Page>;

/**
 * One browser for all tests of a file; a page of a context of its own for each that asks. A test ends with a failure when its
 * page has said anything in the console, has thrown, or has asked another host.
 */
export function openBrowser(executablePath: string): OpenPage {
  let launched: Browser;
  beforeAll(async () => {
    launched = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  });
  afterAll(async () => launched?.close());
  return async (url, { width = 1_440, height = 900, theme = 'light', hasTouch = false, cookie } = {}) => {
    const context = await launched.newContext({ viewport: { width, height }, colorScheme: theme, hasTouch });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    if (cookie !== undefined) {
      const at = cookie.indexOf('=');
      await context.addCookies([{ name: cookie.slice(0, at), value: cookie.slice(at + 1), url: new URL(url).origin }]);
    }
    const page = await context.newPage();
    // For what hangs, not for what is slow.
    page.setDefaultTimeout(60_000);
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!LOCAL.has(new URL(request.url()).hostname)) complaints.push(`asked ${request.url()}`);
    });
    onTestFinished(async () => {
      await context.close();
      const unexpected = complaints.filter((text) => !allowed.get(page)?.some((pattern) => pattern.test(text)));
      expect(unexpected).toEqual([]);
    });
    await page.goto(url);
    return page;
  };
}

/** What a page may say in the console, because the test brings it about: a refusal, which the browser notes there. */
export function allowComplaint(page: Page, pattern: RegExp): void {
  allowed.set(page, [...(allowed.get(page) ?? []), pattern]);
}

/** What someone who does not see the page, or has no mouse, would stumble over. A picture of what was looked at is kept. */
export async function listBarriers(page: Page): Promise<string[]> {
  const { testPath = '' } = expect.getState();
  const screen = new URL(page.url()).pathname.split('/').slice(2).join('-').replace(ID, 'id') || 'overview';
  await keepPicture(page, `${basename(testPath, '.test.ts')}-${String(++pictures).padStart(2, '0')}-${screen}`);
  return findViolations(page);
}

/** What axe finds on the page, by all of its rules or by those given. */
export async function findViolations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // By the debugger, which the policy of the page does not hold for.
  await page.evaluate(AXE);
  return page.evaluate(
    `axe.run(document, ${JSON.stringify(rules ? { runOnly: rules } : {})}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  );
}

/** Whether a page has to be moved sideways to be read. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth');
}

/** Keeps a picture, where `SVC_TEST_SCREENSHOTS` names a folder for them. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.SVC_TEST_SCREENSHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

// --- internal ---

/** All that a page may ask: the control plane and the box of a test are on this machine. */
const LOCAL = new Set(['127.0.0.1', 'localhost']);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Of a run, a session, a prompt. */
const ID = /[0-9a-f]{8}-[0-9a-f-]{27}/;
let pictures = 0;
const allowed = new WeakMap<Page, RegExp[]>();
