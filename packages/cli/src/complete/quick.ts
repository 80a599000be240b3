import { readFileSync } from 'node:fs';
import type { Outline } from './outline.ts';
import { completeWords } from './words.ts';

/**
 * `svc complete -- <words>` without the rest of the command line, since every TAB waits for it. What fails is no
 * choice: a message would land in the line that is typed.
 */
export function printChoices(words: readonly string[]): string {
  try {
    // Written beside what is built.
    const root = JSON.parse(readFileSync(new URL('./outline.json', import.meta.url), 'utf8')) as Outline;
    return completeWords(words, { root, cwd: process.cwd() })
      .map((line) => `${line}\n`)
      .join('');
  } catch {
    return '';
  }
}
