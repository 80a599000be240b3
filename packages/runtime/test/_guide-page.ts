import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { openPage } from './_browser.ts';
import type { Page } from './_browser.ts';
import { useServedPage } from './_served-page.ts';
import { until } from './_setup.ts';

const PAGE = fileURLToPath(new URL('../../../docs/guide/react.md', import.meta.url));
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
  const pageUrl = useServedPage(() => readPageFiles(), 'main.tsx');
  return async (path, { url, token, isCancelled }) => {
    const address = `${pageUrl()}/?${new URLSearchParams({ url, token, id: 'c1' })}`;
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

/** The page's code, by the names of its files in that folder. */
export async function readPageFiles(folder = 'page'): Promise<Record<string, string>> {
  const text = await readFile(PAGE, 'utf8');
  const files = text.matchAll(new RegExp(`^\`\`\`tsx ${folder}/(\\S+)\\n([^]*?)^\`\`\`$`, 'gm'));
  return Object.fromEntries(Array.from(files, ([, name = '', code = '']) => [name, code]));
}

/** What the agent has said, and what went wrong. */
export const see = (page: Page) =>
  page.evaluate<string>(
    `[...document.querySelectorAll('[data-role=assistant], [role=alert]')].map((said) => said.innerText).join('\\n')`,
  );
export const say = async (page: Page, text: string): Promise<void> => {
  await until(() => page.evaluate<boolean>('document.querySelector("input")?.disabled === false'), WAIT_MS);
  await page.evaluate(`(() => {
    const input = document.querySelector('input');
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, ${JSON.stringify(text)});
    input.dispatchEvent(new Event('input', { bubbles: true }));
  })()`);
  await until(() => press(page, 'Send'), WAIT_MS);
};
export const press = (page: Page, name: string) =>
  page.evaluate<boolean>(`(() => {
    const button = [...document.querySelectorAll('button')].find(({ innerText }) => innerText === ${JSON.stringify(name)});
    button?.click();
    return button !== undefined;
  })()`);
export const untilSeen = (page: Page, text: string) => until(async () => (await see(page)).includes(text), WAIT_MS);
