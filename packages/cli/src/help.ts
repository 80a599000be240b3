import type { ArgDef, ArgsDef } from 'citty';
import { docsPath } from './workspace/docs-path.ts';
import { describeDocument, describeType } from './payload/document.ts';
import type { Schema } from './payload/schema.ts';
import { array, object, optional, record, string } from './payload/payload.ts';
import type { TypeOf } from './payload/payload.ts';
import type { Style } from './terminal/style.ts';
import { GLOBAL_FLAGS } from './global-flags.ts';
import { isGroup, listLeaves, toLeaf } from './group.ts';
import type { Found, Group, Place } from './group.ts';
import { listAliases } from './verb.ts';
import type { Answer, Verb } from './verb.ts';
import { wrapText } from './terminal/wrap.ts';

/** Help of a verb as `--help --json` prints it. */
export const VERB_HELP = object({
  command: string('With its `svc`.'),
  description: string('What it does, a sentence.'),
  usage: string('How it is typed.'),
  examples: array(string(), 'Commands that work as written.'),
  positionals: array(string(), 'Its arguments, in order.'),
  schema: record<ArgumentSchema>('JSON Schema of its arguments and flags.'),
  payload: record<Schema>('JSON Schema of what --json prints; of a stream, of each line.'),
  stderr: optional(record<Schema>('JSON Schema of each line on stderr that is JSON.')),
});
export type VerbHelp = TypeOf<typeof VERB_HELP>;

/** Help of a group of verbs, or of all. */
export const GROUP_HELP = object({
  command: string('With its `svc`.'),
  description: string('What its verbs do, a sentence.'),
  verbs: array(
    object({ command: string('With its `svc`.'), description: string('What it does, a sentence.') }),
    'The verbs in it, those of its groups too.',
  ),
});

/** JSON Schema of one object: a property per positional and per flag. */
export interface ArgumentSchema {
  type: 'object';
  properties: Record<
    string,
    { type: 'boolean' | 'string'; description?: string; enum?: readonly string[]; default?: unknown }
  >;
  required: string[];
  additionalProperties: false;
}

/** Help of a verb or a group: text for people, the argument schema for programs. */
export async function describe({ path, node, root }: Found): Promise<Answer> {
  const leaf = toLeaf(node);
  if (!leaf) return describeGroup(node as Group, { path, root });
  const verbs = isGroup(node) ? listLeaves(node, path).filter((below) => below.leaf !== leaf) : [];
  return describeVerb({ path, root, summary: leaf.summary, verb: await leaf.load({ path, root }) }, verbs);
}

/** A verb as the reference shows it: flags as they are typed, those of every verb left out. */
export interface VerbReference extends VerbHelp {
  flags: [flag: string, description: string][];
}

/** Every verb, in the order of `svc --help`. */
export function listVerbs(root: Group): Promise<VerbReference[]> {
  return Promise.all(
    listLeaves(root).map(async ({ path, leaf }) => {
      const verb = await leaf.load({ path, root });
      const help = await toVerbHelp({ path, summary: leaf.summary, verb });
      return { ...help, flags: flagPairs(pickFlags(verb.args)) };
    }),
  );
}

/** The flags every verb takes, as they are typed. */
export function listGlobalFlags(): [flag: string, description: string][] {
  return flagPairs(GLOBAL_FLAGS);
}

// --- internal ---

function formatDocs(root: Group, path: string): string {
  const [word = ''] = path.split(' ');
  const page = root.verbs[word]?.page ?? 'command-line';
  return `Docs: ${docsPath(`guide/${page}.md`)}`;
}

interface Described {
  path: string;
  summary: string;
  verb: Verb;
}

function describeGroup(group: Group, { path, root }: Place): Answer<TypeOf<typeof GROUP_HELP>> {
  const verbs = listLeaves(group, path).map((found) => ({
    command: `svc ${found.path}`,
    description: found.leaf.summary,
  }));
  const name = ['svc', path].filter(Boolean).join(' ');
  return {
    data: { command: name, description: group.summary, verbs },
    human: (style) =>
      joinSections([
        group.summary,
        section('Examples', group.examples.map(indent), style),
        section('Usage', [indent(`${name} <verb> [flags]`)], style),
        section(
          'Verbs',
          alignPairs(
            verbs.map((verb) => [verb.command, verb.description]),
            style,
          ),
          style,
        ),
        section('Flags', flagLines(GLOBAL_FLAGS, style), style),
        formatDocs(root, path),
      ]),
  };
}

/** `below`: verbs that begin with its words. */
async function describeVerb(
  described: Described & Place,
  below: ReturnType<typeof listLeaves>,
): Promise<Answer<VerbHelp>> {
  const help = await toVerbHelp(described);
  const { args } = described.verb;
  return {
    data: help,
    human: (style) =>
      joinSections([
        wrapText(help.description, style),
        section('Examples', help.examples.map(indent), style),
        section('Usage', [indent(help.usage)], style),
        section(
          'Verbs',
          alignPairs(
            below.map(({ path, leaf }) => [`svc ${path}`, leaf.summary]),
            style,
          ),
          style,
        ),
        section(
          'Arguments',
          alignPairs(
            listPositionals(args).map(([name, def]) => [name, describeArg(def)]),
            style,
          ),
          style,
        ),
        section('Flags', flagLines({ ...pickFlags(args), ...GLOBAL_FLAGS }, style), style),
        formatDocs(described.root, described.path),
      ]),
  };
}

async function toVerbHelp({ path, summary, verb }: Described): Promise<VerbHelp> {
  const positionals = listPositionals(verb.args);
  const words = positionals.map(([name, def]) => (def.required ? `<${name}>` : `[${name}]`));
  return {
    command: `svc ${path}`,
    description: summary,
    usage: ['svc', path, ...words, '[flags]'].join(' '),
    examples: [...verb.examples],
    positionals: positionals.map(([name]) => name),
    schema: toArgumentSchema({ ...verb.args, ...GLOBAL_FLAGS }),
    payload: await describeDocument(verb),
    ...(verb.stderr ? { stderr: await describeType(verb.stderr) } : {}),
  };
}

function listPositionals(args: ArgsDef): [string, ArgDef][] {
  return Object.entries(args).filter(([, def]) => def.type === 'positional');
}

function pickFlags(args: ArgsDef): ArgsDef {
  return Object.fromEntries(Object.entries(args).filter(([, def]) => def.type !== 'positional'));
}

function toArgumentSchema(args: ArgsDef): ArgumentSchema {
  const entries = Object.entries(args);
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, def]) => [
        name,
        {
          type: def.type === 'boolean' ? 'boolean' : 'string',
          ...(def.description === undefined ? {} : { description: def.description }),
          ...(def.type === 'enum' ? { enum: def.options ?? [] } : {}),
          ...(def.default === undefined ? {} : { default: def.default }),
        },
      ]),
    ),
    required: entries.filter(([, def]) => def.required).map(([name]) => name),
    additionalProperties: false,
  };
}

function flagLines(flags: ArgsDef, style: Style): string[] {
  return alignPairs(flagPairs(flags), style);
}

function flagPairs(flags: ArgsDef): [string, string][] {
  return Object.entries(flags).map(([name, def]) => [formatFlag(name, def), describeArg(def)]);
}

function formatFlag(name: string, def: ArgDef): string {
  const short = listAliases(def).find((alias) => alias.length === 1);
  const negative = def.type === 'boolean' && def.negativeDescription ? `, --no-${name}` : '';
  const value = def.type === 'boolean' ? '' : ` <${def.valueHint ?? name}>`;
  return `${short ? `-${short}, ` : ''}--${name}${negative}${value}`;
}

function describeArg(def: ArgDef): string {
  const options = def.type === 'enum' ? `One of ${def.options?.join(', ')}.` : '';
  const fallback = typeof def.default === 'string' && def.default !== '.' ? `Default ${def.default}.` : '';
  return [def.description, options, fallback].filter(Boolean).join(' ');
}

function section(title: string, lines: readonly string[], style: Style): string {
  return lines.length === 0 ? '' : [style.bold(title), ...lines].join('\n');
}

function joinSections(sections: string[]): string {
  return sections.filter(Boolean).join('\n\n');
}

function alignPairs(pairs: [string, string][], { columns }: Style): string[] {
  const width = Math.max(0, ...pairs.map(([left]) => left.length));
  const taken = width + 4;
  return pairs.map(([left, right]) =>
    indent(`${left.padEnd(width)}  ${wrapText(right, { columns, indent: taken, taken })}`),
  );
}

function indent(line: string): string {
  return `  ${line}`;
}
