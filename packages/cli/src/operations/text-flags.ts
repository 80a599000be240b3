import type { ArgsDef } from 'citty';
import { usageError } from '../errors.ts';
import { readTextFile } from '../terminal/read-input.ts';
import type { Context } from '../context.ts';

/** A text that is typed or comes from a file. `most`: how much of it the box takes. */
export function toTextFlags(most: string): ArgsDef {
  return {
    file: { type: 'string', valueHint: 'path', description: 'A file that holds the text; - is stdin.' },
    text: { type: 'string', description: `The text itself. At most ${most}.` },
  };
}

/** What exactly one of the two flags says. `what`: the text of what it is. */
export async function readText(
  { file, text }: Record<string, unknown>,
  { what, context }: { what: string; context: Context },
): Promise<unknown> {
  if ((file === undefined) === (text === undefined))
    throw usageError(
      text === undefined ? `The ${what} is missing.` : '--text and --file both hold the text.',
      'Use one of --file <path> and --text <text>.',
    );
  return text ?? readTextFile(String(file), { flag: 'file', context });
}
