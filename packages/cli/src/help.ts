import type { ArgDef, ArgsDef } from 'citty';
import { docsPath } from './workspace/docs-path.ts';
import { describeDocument, describeType } from './payload/document.ts';
import type { Schema } from './payload/schema.ts';
import { array, object, optional, record, string } from './payload/payload.ts';
import type { TypeOf } from './payload/payload.ts';
import type { Style } from './terminal/style.ts';
import { isGroup, TREE } from './tree.ts';
import type { Found, Group, Leaf } from './tree.ts';
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
export async function describe({ path, node }: Found): Promise<Answer> {
  if (isGroup(node)) return describeGroup(path, node);
  return describeVerb({ path, summary: node.summary, verb: await node.load() });
}

/** A verb as the reference shows it: flags as they are typed, those of every verb left out. */
export interface VerbReference extends VerbHelp {
  flags: [flag: string, description: string][];
}

/** Every verb, in the order of `svc --help`. */
export function listVerbs(): Promise<VerbReference[]> {
  return Promise.all(
    listLeaves(TREE, []).map(async ({ path, leaf }) => {
      const verb = await leaf.load();
      return { ...(await toVerbHelp({ path, summary: leaf.summary, verb })), flags: flagPairs(pickFlags(verb.args)) };
    }),
  );
}

/** The flags every verb takes. */
export const GLOBAL_FLAGS = {
  json: { type: 'boolean', description: 'Print one JSON document.' },
  verbose: { type: 'boolean', description: 'Print requests and raw logs on stderr.' },
  'no-color': { type: 'boolean', description: 'Print without colour.' },
  help: { type: 'boolean', alias: 'h', description: 'Print this help; with --json the argument schema.' },
} as const satisfies ArgsDef;

/** The same as they are typed. */
export function listGlobalFlags(): [flag: string, description: string][] {
  return flagPairs(GLOBAL_FLAGS);
}

// --- internal ---

const GROUP_EXAMPLES: Record<string, readonly [string, string] | undefined> = {
  '': ['svc dev', 'svc workflows start greet --input \'{"name":"Ada"}\''],
  add: ['svc add agent support', 'svc add workflow triage --calls support'],
  schema: ['svc schema status', 'svc schema generate --rename users.name=users.full_name'],
  pull: ['svc pull run <id>', 'svc pull run <id> --out run.json'],
  workflows: ['svc workflows list', 'svc workflows start greet --input \'{"name":"Ada"}\''],
  runs: ['svc runs list --status failed', 'svc runs get <id>'],
  logs: ['svc logs tail --level warn', 'svc logs list --level error --from 2h'],
  sessions: ['svc sessions list', 'svc sessions get <id>'],
  hitl: ['svc hitl list --status pending', 'svc hitl approve <id> --note "Checked."'],
  jobs: ['svc jobs list', 'svc jobs pause <id>'],
  prompts: ['svc prompts list', 'svc prompts publish <id>'],
  config: ['svc config list', 'svc config set greeting "Hello there"'],
  secrets: ['svc secrets list', 'svc secrets set SMTP_PASSWORD --from-file password.txt'],
  keys: ['svc keys list', 'svc keys create --name ci --workflows all'],
  catalog: ['svc catalog list', 'svc catalog list --kind tool'],
  activity: ['svc activity list', 'svc activity list --operation config.set'],
  contract: ['svc contract show', 'svc contract show --json'],
};

/** The page of the guide about a verb, by its first word. */
const PAGES: Record<string, string | undefined> = {
  init: 'first-workspace',
  add: 'first-workspace',
  dev: 'dev',
  login: 'dev',
  logout: 'dev',
  whoami: 'dev',
  link: 'dev',
  build: 'deploy',
  package: 'deploy',
  start: 'deploy',
  check: 'deploy',
  contract: 'deploy',
  schema: 'database',
  workflows: 'workflows',
  sessions: 'sessions',
  prompts: 'prompts',
  config: 'config',
  secrets: 'secrets',
  runs: 'operating',
  why: 'operating',
  pull: 'operating',
  replay: 'operating',
  logs: 'operating',
  hitl: 'operating',
  jobs: 'operating',
  keys: 'operating',
  catalog: 'operating',
  activity: 'operating',
};

function formatDocs(path: string): string {
  const [word = ''] = path.split(' ');
  return `Docs: ${docsPath(`guide/${PAGES[word] ?? 'command-line'}.md`)}`;
}

interface Described {
  path: string;
  summary: string;
  verb: Verb;
}

function describeGroup(path: string, group: Group): Answer<TypeOf<typeof GROUP_HELP>> {
  const verbs = listLeaves(group, path ? [path] : []).map((found) => ({
    command: `svc ${found.path}`,
    description: found.leaf.summary,
  }));
  const name = ['svc', path].filter(Boolean).join(' ');
  return {
    data: { command: name, description: group.summary, verbs },
    human: (style) =>
      joinSections([
        group.summary,
        section('Examples', (GROUP_EXAMPLES[path] ?? []).map(indent), style),
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
        formatDocs(path),
      ]),
  };
}

async function describeVerb(described: Described): Promise<Answer<VerbHelp>> {
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
          'Arguments',
          alignPairs(
            listPositionals(args).map(([name, def]) => [name, describeArg(def)]),
            style,
          ),
          style,
        ),
        section('Flags', flagLines({ ...pickFlags(args), ...GLOBAL_FLAGS }, style), style),
        formatDocs(described.path),
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

function listLeaves(group: Group, words: string[]): { path: string; leaf: Leaf }[] {
  return Object.entries(group.verbs).flatMap(([word, node]) =>
    isGroup(node) ? listLeaves(node, [...words, word]) : [{ path: [...words, word].join(' '), leaf: node }],
  );
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
