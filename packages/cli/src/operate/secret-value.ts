import { usageError } from '../errors.ts';
import { readTextFile } from '../terminal/read-input.ts';
import type { Context } from '../context.ts';
import type { OperateForm } from './form.ts';
import type { Row } from './row.ts';

/** The value of a secret: from a file, from a pipe, or typed where nothing of it is shown. One line break at its end goes. */
export const SECRET_VALUE: OperateForm = {
  replaces: ['value'],
  flags: {
    // There to be refused with the reason: a list of processes and the history of a shell show every argument.
    given: { type: 'positional', required: false, description: 'None: the value is never an argument.' },
    'from-file': { type: 'string', valueHint: 'path', description: 'A file that holds the value; - is stdin.' },
  },
  // Refused with the reason, empty or not.
  mayBeEmpty: ['given'],
  read: readSecret,
};

// --- internal ---

async function readSecret(args: Record<string, unknown>, context: Context): Promise<Row> {
  if (args.given !== undefined)
    throw usageError(
      'The value of a secret is never an argument: other processes and the history of the shell would see it.',
      `Pipe it in, name a file with --from-file, or type it when asked.`,
    );
  const value = dropLineBreak(await readValue(String(args.name), args['from-file'], context));
  if (value === '')
    throw usageError('The value of the secret is empty.', 'Pipe it in, or name a file with --from-file.');
  return { value };
}

async function readValue(name: string, file: unknown, context: Context): Promise<string> {
  if (file !== undefined) return readTextFile(String(file), { flag: 'from-file', context });
  const piped = await context.readStdin();
  if (piped !== undefined) return piped;
  if (context.mayAsk) return context.ask(`Value of ${name} (not shown): `, { isHidden: true });
  throw usageError('The value of the secret is missing.', 'Pipe it in, or name a file with --from-file.');
}

function dropLineBreak(text: string): string {
  return text.replace(/\r?\n$/, '');
}
