import { usageError } from '../errors.ts';
import { readTextFile } from '../terminal/read-input.ts';
import type { Context } from '../context.ts';
import type { OperateForm } from './form.ts';
import type { Row } from './row.ts';

/** The text of a prompt, from exactly one of two flags. */
export const PROMPT_TEXT: OperateForm = {
  replaces: ['text'],
  flags: {
    file: { type: 'string', valueHint: 'path', description: 'A file that holds the text; - is stdin.' },
    text: { type: 'string', description: 'The text itself. At most 256 KiB.' },
  },
  read: readPromptText,
};

// --- internal ---

async function readPromptText(args: Record<string, unknown>, context: Context): Promise<Row> {
  const { file, text } = args;
  if ((file === undefined) === (text === undefined))
    throw usageError(
      text === undefined ? 'The text of the prompt is missing.' : '--text and --file both hold the text.',
      'Use one of --file <path> and --text <text>.',
    );
  return { text: text ?? (await readTextFile(String(file), { flag: 'file', context })) };
}
