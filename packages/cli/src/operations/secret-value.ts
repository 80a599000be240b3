import type { ArgsDef } from 'citty';
import { usageError } from '../errors.ts';
import { readTextFile } from '../terminal/read-input.ts';
import type { Context } from '../context.ts';
import type { OperationForm } from './form.ts';
import type { Row } from './row.ts';

/** The value of a secret. */
export const SECRET_VALUE: OperationForm = hiddenMember('value', {
  what: 'value of the secret',
  ask: ({ name }) => `Value of ${String(name)} (not shown): `,
});

/** The key of a model provider, or that it has none. */
export const PROVIDER_KEY: OperationForm = hiddenMember('apiKey', {
  what: 'key of the provider',
  ask: () => 'Its key, not shown (Enter: it needs none): ',
  keyless: { flag: 'keyless', description: 'It needs no key, as a gateway of your own may.' },
});

// --- internal ---

interface Hidden {
  /** What is meant, for sentences: `value of the secret`. */
  what: string;
  ask(args: Record<string, unknown>): string;
  /** Of a member that may be missing: the switch that says so where no person is asked. */
  keyless?: { flag: string; description: string };
}

/** A member that comes from a file, from a pipe, or typed where nothing of it is shown. One line break at its end goes. */
function hiddenMember(member: string, hidden: Hidden): OperationForm {
  const { what, keyless } = hidden;
  const flags: ArgsDef = {
    // There to be refused with the reason: a list of processes and the history of a shell show every argument.
    given: { type: 'positional', required: false, description: `None: the ${firstOf(what)} is never an argument.` },
    'from-file': {
      type: 'string',
      valueHint: 'path',
      description: `A file that holds the ${firstOf(what)}; - is stdin.`,
    },
    ...(keyless ? { [keyless.flag]: { type: 'boolean', description: keyless.description } } : {}),
  };
  return {
    replaces: [member],
    flags,
    // Refused with the reason, empty or not.
    mayBeEmpty: ['given'],
    async read(args, context) {
      const value = await readHidden(args, hidden, context);
      return value === undefined ? {} : { [member]: value };
    },
  };
}

/** Undefined: there is none, which was said. */
async function readHidden(args: Row, { what, ask, keyless }: Hidden, context: Context): Promise<string | undefined> {
  if (args.given !== undefined)
    throw usageError(
      `The ${what} is never an argument: other processes and the history of the shell would see it.`,
      `Pipe it in, name a file with --from-file, or type it when asked.`,
    );
  const others = keyless ? `, or add --${keyless.flag} where it needs none` : '';
  const suggestion = `Pipe it in, or name a file with --from-file${others}.`;
  if (keyless && args[keyless.flag] === true) {
    if (args['from-file'] === undefined) return undefined;
    throw usageError(`--${keyless.flag} does not go with --from-file.`, 'Give one or the other.');
  }
  const { text, isTyped } = await readText(args, ask, context);
  if (text === undefined) throw usageError(`The ${what} is missing.`, suggestion);
  const value = dropLineBreak(text);
  if (value !== '') return value;
  if (keyless && isTyped) return undefined;
  throw usageError(`The ${what} is empty.`, suggestion);
}

async function readText(
  args: Row,
  ask: Hidden['ask'],
  context: Context,
): Promise<{ text: string | undefined; isTyped: boolean }> {
  const file = args['from-file'];
  if (file !== undefined)
    return { text: await readTextFile(String(file), { flag: 'from-file', context }), isTyped: false };
  const piped = await context.readStdin();
  if (piped !== undefined || !context.mayAsk) return { text: piped, isTyped: false };
  return { text: await context.ask(ask(args), { isHidden: true }), isTyped: true };
}

function firstOf(what: string): string {
  return what.split(' ')[0] ?? what;
}

function dropLineBreak(text: string): string {
  return text.replace(/\r?\n$/, '');
}
