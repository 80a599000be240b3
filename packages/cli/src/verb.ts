import { parseArgs } from 'citty';
import type { ArgDef, ArgsDef, ParsedArgs } from 'citty';
import type { Context } from './context.ts';
import { CliError, usageError } from './errors.ts';
import { findNearest } from './nearest.ts';
import type { JsonType, Surplus, TypeOf } from './payload/payload.ts';
import type { Style } from './terminal/style.ts';

/** One record of a stream. */
export interface StreamRecord {
  /** One line of --json. */
  data: object;
  /** The same for a person; undefined where there is nothing to show. */
  human(style: Style): string | undefined;
  /** The next record goes on in the same line. */
  isOpen?: boolean;
}

/** What a verb hands back. It never prints. */
export interface Answer<Data extends object = object> {
  /** The payload of --json, without `schema_version`. */
  data: Data;
  /** The same for a person, on stdout. */
  human(style: Style): string;
  /** A hint for a person, on stderr. */
  hint?: string;
  /** Instead of one document: records as they come. With --json each is a line, and the last line says `end`. */
  stream?: AsyncIterable<StreamRecord>;
  /** Instead of both: what stdout is given as it is. Not with --json. */
  bytes?: AsyncIterable<Uint8Array>;
  /** A verb that stays: printed first, then the command ends with this exit code. */
  closed?: Promise<number>;
}

/** What completion offers for a flag or an argument. */
export interface Completion {
  words?: readonly string[];
  /** What the workspace around has, before the words. */
  names?: readonly ('agents' | 'workflows')[];
  /** Several of them may be given with commas between. */
  isList?: true;
  /** A path is meant, too or instead. */
  paths?: 'files' | 'folders';
}

export interface Verb {
  examples: readonly [string, string];
  args: ArgsDef;
  payload: JsonType<object>;
  isStream: boolean;
  stderr: JsonType<object> | undefined;
  completes: Record<string, Completion> | undefined;
  run(rawArgs: string[], path: string, context: Context): Promise<Answer>;
}

export interface VerbOptions<T extends ArgsDef, P extends JsonType<object>, R extends Answer<TypeOf<P>>> {
  /** Two commands that work as written. Help leads with them. */
  examples: readonly [string, string];
  args: T;
  /** The --json document without `schema_version`: what `data` has to be, and no more. Of a stream: each line. */
  payload: P & Exactly<R['data'], TypeOf<P>>;
  isStream?: boolean;
  /** With --json: each line on stderr that is JSON. */
  stderr?: JsonType<object>;
  /** Flags and arguments for which an empty text means something. Every other one is refused when it is blank. */
  mayBeEmpty?: readonly (keyof T)[];
  /** Flags that may be given more than once: their texts come as one, with commas between them. */
  repeatable?: readonly (keyof T & string)[];
  /** Of a flag or an argument whose values its kind and its name do not say. */
  completes?: { [K in keyof T]?: Completion };
  /** Flags a person expects and the verb does not take, each with the sentence that says what does the same. */
  elsewhere?: Record<string, string>;
  /** Flags of earlier versions, each with the message that says what took its place. */
  retired?: Retired;
  run(args: ParsedArgs<T>, context: Context): Promise<R>;
}

export interface Retired {
  flags: Record<string, string>;
  suggestion: string;
}

/** A verb that refuses unknown flags, missing and surplus arguments and values outside a list before it runs. */
export function defineVerb<const T extends ArgsDef, P extends JsonType<object>, R extends Answer<TypeOf<P>>>(
  options: VerbOptions<T, P, R>,
): Verb {
  return {
    examples: options.examples,
    args: options.args,
    payload: options.payload,
    isStream: options.isStream === true,
    stderr: options.stderr,
    completes: options.completes as Record<string, Completion> | undefined,
    async run(rawArgs, path, context) {
      checkRetired(rawArgs, options.retired);
      const usage = { path, defs: options.args, example: options.examples[0], mayBeEmpty: [] };
      checkSwitches(rawArgs, usage);
      checkDashed(rawArgs, usage);
      const args = parseArgs<T>(joinRepeated(rawArgs, options.repeatable ?? []), relax(options.args));
      checkUsage(args, {
        path,
        defs: options.args,
        mayBeEmpty: options.mayBeEmpty ?? [],
        example: options.examples[0],
        elsewhere: options.elsewhere ?? {},
      });
      return options.run(args, context);
    },
  };
}

/** The flags every verb has that talks to a box. */
export const TARGET_ARGS = {
  agent: {
    type: 'string',
    valueHint: 'installationId',
    description: 'Target a deployed box instead of the dev runtime.',
  },
  url: {
    type: 'string',
    valueHint: 'address',
    description: 'Target the box on this address; SVC_API_TOKEN is its credential.',
  },
} as const;

/** The other names of a flag; an argument without dashes has none. */
export function listAliases(def: ArgDef): string[] {
  return 'alias' in def ? [def.alias ?? []].flat() : [];
}

// --- internal ---

/** Refuses a payload that lacks members the data has. */
type Exactly<Got, Want> = [Surplus<Got, Want>] extends [never]
  ? unknown
  : { 'is not in the payload': Surplus<Got, Want> };

interface Usage {
  path: string;
  defs: ArgsDef;
  mayBeEmpty: readonly PropertyKey[];
  example: string;
  elsewhere?: Record<string, string>;
}

/** citty reports these cases with colour codes of its own; checkUsage reports them instead. */
function relax(defs: ArgsDef): ArgsDef {
  return Object.fromEntries(
    Object.entries(defs).map(([name, def]): [string, ArgDef] => [
      name,
      { ...def, type: def.type === 'enum' ? 'string' : def.type, required: false } as ArgDef,
    ]),
  );
}

function checkRetired(rawArgs: readonly string[], retired: Retired | undefined): void {
  for (const [flag, message] of Object.entries(retired?.flags ?? {}))
    if (listFlags(rawArgs).some((arg) => arg === `--${flag}` || arg.startsWith(`--${flag}=`)))
      throw new CliError('flag_removed', message, { suggestion: retired?.suggestion ?? '' });
}

/** A switch that is given a value would be read as one that is not. */
function checkSwitches(rawArgs: readonly string[], usage: Usage): void {
  for (const [name, def] of Object.entries(usage.defs)) {
    const given = listFlags(rawArgs).find((arg) => new RegExp(`^--(?:no-)?${name}=`).test(arg));
    if (def.type === 'boolean' && given) throw misuse(`${given.split('=')[0]} takes no value.`, usage);
  }
}

/** An argument that begins with a dash would be read as short flags, one for each letter. */
function checkDashed(rawArgs: readonly string[], { path, defs }: Usage): void {
  const letters = Object.values(defs).flatMap(listAliases);
  const isFlags = (arg: string): boolean =>
    [...(arg.slice(1).split('=')[0] ?? '')].every((one) => letters.includes(one));
  const dashed = listFlags(rawArgs).find((arg) => /^-[^-\d]./.test(arg) && !isFlags(arg));
  if (dashed === undefined) return;
  const isArgument = Object.values(defs).some(({ type }) => type === 'positional');
  throw usageError(
    `"svc ${path}" has no flag "${dashed}".`,
    isArgument
      ? `Where it is an argument, put -- before it: svc ${path} -- ${dashed}`
      : `Run \`svc ${path} --help\` to see its flags.`,
  );
}

/** `--drop a --drop=b` as `--drop=a,b`: the parser keeps the last of several. */
function joinRepeated(rawArgs: readonly string[], names: readonly string[]): string[] {
  const flags = listFlags(rawArgs);
  const given = new Map<string, string[]>();
  const others: string[] = [];
  for (let at = 0; at < flags.length; at++) {
    const [, name = '', text] = /^--([^=]+)(?:=([^]*))?$/.exec(flags[at] ?? '') ?? [];
    const value = text ?? flags[at + 1];
    if (!names.includes(name) || value === undefined || (text === undefined && value.startsWith('-'))) {
      others.push(flags[at] ?? '');
      continue;
    }
    if (text === undefined) at++;
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  return [
    ...others,
    ...[...given].map(([name, values]) => `--${name}=${values.join(',')}`),
    ...rawArgs.slice(flags.length),
  ];
}

/** What comes after `--` is not a flag. */
function listFlags(rawArgs: readonly string[]): readonly string[] {
  const end = rawArgs.indexOf('--');
  return end === -1 ? rawArgs : rawArgs.slice(0, end);
}

function checkUsage(args: Record<string, unknown> & { _: string[] }, usage: Usage): void {
  checkUnknownFlags(Object.keys(args), usage);
  const positionals = Object.entries(usage.defs).filter(([, def]) => def.type === 'positional');
  const surplus = args._[positionals.length];
  if (surplus !== undefined) throw misuse(`"svc ${usage.path}" does not take the argument "${surplus}".`, usage);
  for (const [name, def] of positionals) checkPositional(name, def, { value: args[name], usage });
  for (const [name, def] of Object.entries(usage.defs)) {
    if (def.type === 'string' || def.type === 'enum') checkText(name, def, { value: args[name], usage });
  }
}

function checkPositional(name: string, def: ArgDef, { value, usage }: { value: unknown; usage: Usage }): void {
  const isEmpty = typeof value === 'string' && value.trim() === '' && !usage.mayBeEmpty.includes(name);
  if (def.required && (value === undefined || isEmpty)) throw misuse(`"svc ${usage.path}" needs <${name}>.`, usage);
  if (isEmpty) throw misuse(`<${name}> is an empty text.`, usage);
  if (typeof value === 'string') checkCharacters(`<${name}>`, value, usage);
}

/** No name, path or text that is typed holds one; a terminal would obey it wherever it is shown. */
function checkCharacters(what: string, value: string, usage: Usage): void {
  if (/[^\P{Cc}\n\r\t]/u.test(value)) throw misuse(`${what} holds a control character.`, usage);
}

function checkUnknownFlags(keys: string[], usage: Usage): void {
  const known = Object.entries(usage.defs).flatMap(([name, def]) => [name, toCamelCase(name), ...listAliases(def)]);
  for (const key of keys) {
    if (key === '_' || known.includes(key)) continue;
    const near = findNearest(key, Object.keys(usage.defs));
    const flag = key.length === 1 ? `-${key}` : `--${key}`;
    throw usageError(
      `"svc ${usage.path}" has no flag "${flag}".`,
      usage.elsewhere?.[key] ??
        (near ? `Did you mean --${near}?` : `Run \`svc ${usage.path} --help\` to see its flags.`),
    );
  }
}

function checkText(name: string, def: ArgDef, { value, usage }: { value: unknown; usage: Usage }): void {
  if (value === undefined) return;
  const empty = typeof value !== 'string' || (value.trim() === '' && !usage.mayBeEmpty.includes(name));
  if (empty) throw misuse(`--${name} needs a value.`, usage);
  checkCharacters(`--${name}`, value, usage);
  if (def.type === 'enum' && !def.options?.includes(value)) {
    const near = findNearest(value, def.options ?? []);
    throw usageError(
      `--${name} does not take "${value}".`,
      near ? `Did you mean --${name} ${near}?` : `Use one of: ${def.options?.join(', ')}.`,
    );
  }
}

function misuse(message: string, usage: Usage) {
  return usageError(message, `For example: ${usage.example}`);
}

function toCamelCase(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
