import type { Page } from 'playwright-core';

/** What a model is shown of a page at once: the rest is read from a line on. */
export const READ_LIMITS = { characters: 16_000, line: 1_000, head: 300 } as const;

/** What is on the page as lines of text, each thing that can be used with its `ref`, from a line on. */
export async function readPage(page: Page, offset: number): Promise<string> {
  const head = await describePage(page);
  // Gone through as it comes: a page may be of any size, and only what is shown is cut.
  const lines = (await page.ariaSnapshot({ mode: 'ai' })).split('\n');
  const shown: string[] = [];
  let room: number = READ_LIMITS.characters;
  for (const line of lines.slice(offset)) {
    const cut = shorten(line, READ_LIMITS.line);
    room -= cut.length + 1;
    if (room < 0) break;
    shown.push(cut);
  }
  const left = lines.length - offset - shown.length;
  if (shown.length === 0) return `${head}\n(The page has ${lines.length} lines; none is left to read.)`;
  return [head, ...shown, ...(left > 0 ? [`(${left} more lines; go on at offset ${offset + shown.length})`] : [])].join(
    '\n',
  );
}

/** Its title and its address, in one line each. */
export async function describePage(page: Page): Promise<string> {
  const title = shorten((await page.title()).replace(/\s+/g, ' ').trim(), READ_LIMITS.head);
  return `Title: ${title || '(none)'}\nAddress: ${shorten(page.url(), READ_LIMITS.head)}`;
}

/** What a library throws is for people at a terminal: its first line, without colours. */
export function explainAction(error: unknown): string {
  const { message } = error as Error;
  // oxlint-disable-next-line no-control-regex -- colours are what is taken out
  const [first = ''] = message.replace(/\u001B\[[\d;]*m/g, '').split('\n');
  return shorten(first.replace(/^\w+\.\w+: /, ''), READ_LIMITS.head);
}

// --- internal ---

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
