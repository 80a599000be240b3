import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operatorToken } from '../src/auth/strategy.ts';
import { signUserToken } from '../src/client.ts';
import { browser, openPage } from './_browser.ts';
import type { Page } from './_browser.ts';
import { createAgent } from './_agui.ts';
import { call, setupBoxes, until } from './_setup.ts';
import type { TestBox } from './_setup.ts';
import { describeWhen } from './require.ts';
import { defineDeepAgent } from '../src/definitions/definition.ts';

const boxes = setupBoxes();
const PAGE = fileURLToPath(new URL('../../../docs/guide/react.md', import.meta.url));
const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
const WAIT_MS = 30_000;

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

beforeAll(async () => {
  if (browser.value === undefined) return;
  script = await bundle();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  pageUrl = `http://localhost:${(server.address() as AddressInfo).port}`;
}, WAIT_MS);
afterAll(() => void server.close());

const agents = { desk: defineDeepAgent({ ...createAgent(), name: 'desk', interruptOn: { refund: { by: 'user' } } }) };
const TOKEN = 'the-token-of-the-operator';

/** Boxes a page may talk to, with what its person has for a token. */
const KINDS: Record<string, () => Promise<{ box: TestBox; token: string }>> = {
  'svc dev': async () => ({ box: await boxes.open({ agents }), token: 'dev' }),
  'a deployed box, with an API key': async () => {
    const box = await boxes.open({ agents, options: { host: 'image', strategy: operatorToken(TOKEN) } });
    return { box, token: (await makeKey(box)).value };
  },
  'a deployed box, with a user token': async () => {
    const box = await boxes.open({ agents, options: { host: 'image', strategy: operatorToken(TOKEN) } });
    return { box, token: await signUserToken(await makeKey(box), { sub: 'ada' }) };
  },
};

async function makeKey(box: TestBox) {
  const body = { name: 'shop', users: true, grants: { agents: ['desk'], workflows: [] } };
  const made = await call<{ id: string; value: string; userSecret: string }>(box, 'POST /api/keys', body, {
    authorization: `Bearer ${TOKEN}`,
  });
  return made.body;
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

describeWhen(browser, 'the page of the guide', (path) => {
  describe.each(Object.keys(KINDS))('at %s', (kind) => {
    test('chats, runs tools, asks, goes on after a reload, and stops', { timeout: 3 * WAIT_MS }, async () => {
      const { box, token } = await (KINDS[kind] as (typeof KINDS)[string])();
      const url = `${await box.listen()}/ui/v1/agents/desk`;
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
      const [run] = await box.journal.listRuns({ kind: 'agent' }, { limit: 1 });
      await until(async () => (await box.journal.getRun(run?.runId ?? ''))?.status === 'cancelled', WAIT_MS);
      expect(await see(page)).not.toContain('zehn');
      expect(page.complaints.filter((text) => !text.includes('favicon'))).toEqual([]);
    });
  });
});
