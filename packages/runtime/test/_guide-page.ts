import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, expect } from 'vitest';
import { browser, openPage } from './_browser.ts';
import type { Page } from './_browser.ts';
import { until } from './_setup.ts';

const PAGE = fileURLToPath(new URL('../../../docs/guide/react.md', import.meta.url));
const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
const WAIT_MS = 30_000;

/** A chat of the page with an agent `desk` that has the tools `add` and `refund`, whose user decides. */
export interface PageChat {
  /** Of the agent. */
  url: string;
  token: string;
  /** Whether the turn that was stopped is cancelled. */
  isCancelled(): Promise<boolean>;
}

/** The time one chat takes at most. */
export const CHAT_MS = 3 * WAIT_MS;

/** The page of the guide, served to a browser; answers how to go through all it does. */
export function useGuidePage(): (path: string, chat: PageChat) => Promise<void> {
  let script = '';
  let pageUrl = '';
  const server = createServer(({ url = '' }, response) => {
    const isScript = url.startsWith('/main.js');
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript
        ? script
        : '<!doctype html><title>Desk</title><div id="root"></div><script type="module" src="/main.js"></script>',
    );
  });

  beforeAll(async () => {
    if (browser.value === undefined) return;
    script = await bundle();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    pageUrl = `http://localhost:${(server.address() as AddressInfo).port}`;
  }, WAIT_MS);
  afterAll(() => void server.close());

  return async (path, { url, token, isCancelled }) => {
    const address = `${pageUrl}/?${new URLSearchParams({ url, token, id: 'c1' })}`;
    const page = await openPage(path);
    await page.goto(address);
    await say(page, 'tool:add {"a":1,"b":2}; say:It is three.');
    await untilSeen(page, 'It is three.');
    expect(await see(page)).toContain('add 3');

    await say(page, 'tool:refund {"order":"A-1","amount":5}; say:It is paid back.');
    await until(() => press(page, 'Approve'), WAIT_MS);
    await untilSeen(page, 'It is paid back.');
    expect(await see(page)).toContain('refund {"paid":5}');

    await say(page, 'tool:refund {"order":"A-1","amount":6}; say:It stays.');
    await untilSeen(page, 'Approve');
    // What waits is asked again.
    await page.goto('about:blank');
    await page.goto(address);
    await until(() => press(page, 'Reject'), WAIT_MS);
    await untilSeen(page, 'It stays.');
    expect(await see(page)).toContain('output-denied');

    await say(page, 'delay:120; say:one two three four five six seven eight nine ten');
    await untilSeen(page, 'two three');
    await page.goto('about:blank');
    await page.goto(address);
    await untilSeen(page, 'nine ten');
    const shown = await see(page);
    expect(shown.match(/one two/g)).toHaveLength(1);
    expect(shown.indexOf('It is three.')).toBeLessThan(shown.indexOf('one two'));

    await say(page, 'delay:120; say:eins zwei drei vier fünf sechs sieben acht neun zehn');
    await untilSeen(page, 'zwei drei');
    await until(() => press(page, 'Stop'), WAIT_MS);
    await until(() => page.evaluate<boolean>('document.querySelector("input")?.disabled === false'), WAIT_MS);
    await until(isCancelled, WAIT_MS);
    expect(await see(page)).not.toContain('zehn');
    expect(page.complaints.filter((text) => !text.includes('favicon'))).toEqual([]);
  };
}

// --- internal ---

/** The page of the guide, as a bundler makes it. */
async function bundle(): Promise<string> {
  await mkdir(CACHE, { recursive: true });
  // Below the package, whose dependencies it takes.
  const folder = await mkdtemp(join(CACHE, 'page-'));
  try {
    const text = await readFile(PAGE, 'utf8');
    for (const [, name = '', code = ''] of text.matchAll(/^```tsx page\/(\S+)\n([^]*?)^```$/gm))
      await writeFile(join(folder, name), code);
    const built = await build({
      root: folder,
      configFile: false,
      logLevel: 'error',
      define: { 'process.env.NODE_ENV': '"production"' },
      oxc: { jsx: { runtime: 'automatic', development: false } },
      build: { write: false, minify: false, lib: { entry: 'main.tsx', formats: ['es'] } },
    });
    const [{ output }] = built as unknown as [{ output: { code: string }[] }];
    return output[0]?.code ?? '';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the agent has said, and what went wrong. */
const see = (page: Page) =>
  page.evaluate<string>(
    `[...document.querySelectorAll('[data-role=assistant], [role=alert]')].map((said) => said.innerText).join('\\n')`,
  );
const say = async (page: Page, text: string): Promise<void> => {
  await until(() => page.evaluate<boolean>('document.querySelector("input")?.disabled === false'), WAIT_MS);
  await page.evaluate(`(() => {
    const input = document.querySelector('input');
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, ${JSON.stringify(text)});
    input.dispatchEvent(new Event('input', { bubbles: true }));
  })()`);
  await until(() => press(page, 'Send'), WAIT_MS);
};
const press = (page: Page, name: string) =>
  page.evaluate<boolean>(`(() => {
    const button = [...document.querySelectorAll('button')].find(({ innerText }) => innerText === ${JSON.stringify(name)});
    button?.click();
    return button !== undefined;
  })()`);
const untilSeen = (page: Page, text: string) => until(async () => (await see(page)).includes(text), WAIT_MS);
