import type { OperationForm } from './form.ts';
import { readText, toTextFlags } from './text-flags.ts';

/** The text of a prompt, from exactly one of two flags. */
export const PROMPT_TEXT: OperationForm = {
  replaces: ['text'],
  flags: toTextFlags('256 KiB'),
  read: async (args, context) => ({ text: await readText(args, { what: 'text of the prompt', context }) }),
};
