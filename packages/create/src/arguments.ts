import { parseArgs } from 'node:util';
import { CommandError } from './errors.ts';
import { FLAGS } from './help.ts';
import { RETIRED_INIT_FLAGS, RETIRED_SUGGESTION } from './retired.ts';
import { TEMPLATES } from './source.ts';
import type { TemplateName } from './source.ts';

/** What `npm create svc` was asked. */
export interface Arguments {
  dir: string | undefined;
  name: string | undefined;
  with: TemplateName | undefined;
  install: boolean;
  force: boolean;
  json: boolean;
  version: boolean;
  help: boolean;
}

/** Throws one sentence about the first flag or value that cannot be meant. */
export function readArguments(argv: string[]): Arguments {
  for (const [flag, message] of Object.entries(RETIRED_INIT_FLAGS))
    if (argv.some((arg) => arg === `--${flag}` || arg.startsWith(`--${flag}=`)))
      throw new CommandError('flag_removed', message, { suggestion: RETIRED_SUGGESTION });
  const { values, positionals } = parse(argv);
  const [dir, surplus] = positionals;
  if (surplus !== undefined) throw misuse(`npm create svc does not take the argument "${surplus}".`);
  if (dir === '') throw misuse('The folder to make is an empty text.');
  for (const flag of ['name', 'with'] as const) if (values[flag] === '') throw misuse(`--${flag} needs a value.`);
  const template = TEMPLATES.find((name) => name === values.with);
  if (values.with !== undefined && !template)
    throw new CommandError('generic', `--with does not take "${values.with}".`, {
      suggestion: `Use one of: ${TEMPLATES.join(', ')}.`,
    });
  const { name, 'no-install': isLeft, force = false, json = false, version = false, help = false } = values;
  return { dir, name, with: template, install: !isLeft, force, json, version, help };
}

// --- internal ---

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
    suggestion: 'For example: npm create svc my-workspace -- --with agent',
  });
}
