import { parseArgs } from 'node:util';
import { CommandError } from './errors.ts';
import { FLAGS } from './help.ts';
import { RETIRED_INIT_FLAGS } from './retired.ts';
import { TEMPLATES } from './source.ts';
import type { TemplateName } from './source.ts';

/** What `npm create svc` was asked. */
export interface Arguments {
  dir: string | undefined;
  name: string | undefined;
  with: TemplateName | undefined;
  provider: string | undefined;
  keyStdin: boolean;
  model: string | undefined;
  /** Ask nothing. */
  yes: boolean;
  install: boolean;
  force: boolean;
  json: boolean;
  version: boolean;
  help: boolean;
}

/** Throws one sentence about the first flag or value that cannot be meant. */
export function readArguments(argv: string[]): Arguments {
  if (argv.some((arg) => arg === '--starter' || arg.startsWith('--starter=')))
    throw new CommandError('flag_removed', RETIRED_INIT_FLAGS.starter, { suggestion: EXAMPLE });
  const { values, positionals } = parse(argv);
  const [dir, surplus] = positionals;
  if (surplus !== undefined) throw misuse(`npm create svc does not take the argument "${surplus}".`);
  if (dir === '') throw misuse('The folder to make is an empty text.');
  for (const flag of ['name', 'with', 'template', 'provider', 'model'] as const)
    if (values[flag]?.trim() === '') throw misuse(`--${flag} needs a value.`);
  if (values.with !== undefined && values.template !== undefined) throw misuse('--with and --template are the same.');
  const asked = values.template ?? values.with;
  const template = TEMPLATES.find((name) => name === asked);
  if (asked !== undefined && !template)
    throw new CommandError('generic', `--${values.with ? 'with' : 'template'} does not take "${asked}".`, {
      suggestion: `Use one of: ${TEMPLATES.join(', ')}.`,
    });
  const { name, provider, model, 'key-stdin': keyStdin = false, yes = false } = values;
  const { 'no-install': isLeft, force = false, json = false, version = false, help = false } = values;
  const of = { provider, keyStdin, model };
  return { dir, name, with: template, ...of, yes, install: !isLeft, force, json, version, help };
}

// --- internal ---

const EXAMPLE = 'For example: npm create svc my-workspace -- --template agent';

function parse(argv: string[]) {
  try {
    return parseArgs({ args: argv, allowPositionals: true, options: FLAGS });
  } catch (error) {
    // Node's own sentences name the flag; what follows the first is advice about "--".
    throw misuse(`${(error as Error).message.split('. ')[0]?.split('\n')[0]?.replace(/\.$/, '')}.`);
  }
}

function misuse(message: string): CommandError {
  return new CommandError('generic', message, {
    suggestion: EXAMPLE,
  });
}
