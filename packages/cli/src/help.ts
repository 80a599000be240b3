import type { ArgDef, ArgsDef } from 'citty';
import type { Style } from './style.ts';
import { isGroup, TREE } from './tree.ts';
import type { Found, Group, Leaf } from './tree.ts';
import { listAliases } from './verb.ts';
import type { Answer, Verb } from './verb.ts';

/** Help of a verb as `--help --json` prints it. */
export interface VerbHelp {
  /** With its `svc`. */
  command: string;
  description: string;
  usage: string;
  examples: readonly string[];
  positionals: string[];
  schema: ArgumentSchema;
  /** The members of the --json document, each with its meaning. */
  payload: Record<string, string>;
}

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
      return { ...toVerbHelp({ path, summary: leaf.summary, verb }), flags: flagPairs(pickFlags(verb.args)) };
    }),
  );
}

/** The flags every verb takes. */
export function listGlobalFlags(): [flag: string, description: string][] {
  return flagPairs(GLOBAL_FLAGS);
}

// --- internal ---

const GLOBAL_FLAGS = {
  json: { type: 'boolean', description: 'Print one JSON document.' },
  verbose: { type: 'boolean', description: 'Print requests and raw logs on stderr.' },
  'no-color': { type: 'boolean', description: 'Print without colour.' },
  help: { type: 'boolean', alias: 'h', description: 'Print this help; with --json the argument schema.' },
} as const satisfies ArgsDef;

const GROUP_EXAMPLES: Record<string, readonly [string, string] | undefined> = {
  '': ['svc dev', 'svc workflows start greet --input \'{"name":"Ada"}\''],
  add: ['svc add agent support', 'svc add workflow triage --calls support'],
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

const DOCS = 'Every route of a running box: http://127.0.0.1:4242';

interface Described {
  path: string;
  summary: string;
  verb: Verb;
}

function describeGroup(path: string, group: Group): Answer {
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
        section('Verbs', alignPairs(verbs.map((verb) => [verb.command, verb.description])), style),
        section('Flags', flagLines(GLOBAL_FLAGS), style),
        DOCS,
      ]),
  };
}

function describeVerb(described: Described): Answer {
  const help = toVerbHelp(described);
  const { args } = described.verb;
  return {
    data: help,
    human: (style) =>
      joinSections([
        help.description,
        section('Examples', help.examples.map(indent), style),
        section('Usage', [indent(help.usage)], style),
        section('Arguments', alignPairs(listPositionals(args).map(([name, def]) => [name, describeArg(def)])), style),
        section('Flags', flagLines({ ...pickFlags(args), ...GLOBAL_FLAGS }), style),
        DOCS,
      ]),
  };
}

function toVerbHelp({ path, summary, verb }: Described): VerbHelp {
  const positionals = listPositionals(verb.args);
  const words = positionals.map(([name, def]) => (def.required ? `<${name}>` : `[${name}]`));
  return {
    command: `svc ${path}`,
    description: summary,
    usage: ['svc', path, ...words, '[flags]'].join(' '),
    examples: verb.examples,
    positionals: positionals.map(([name]) => name),
    schema: toArgumentSchema({ ...verb.args, ...GLOBAL_FLAGS }),
    payload: verb.payload,
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

function flagLines(flags: ArgsDef): string[] {
  return alignPairs(flagPairs(flags));
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
  const fallback = typeof def.default === 'string' ? `Default ${def.default}.` : '';
  return [def.description, options, fallback].filter(Boolean).join(' ');
}

function section(title: string, lines: readonly string[], style: Style): string {
  return lines.length === 0 ? '' : [style.bold(title), ...lines].join('\n');
}

function joinSections(sections: string[]): string {
  return sections.filter(Boolean).join('\n\n');
}

function alignPairs(pairs: [string, string][]): string[] {
  const width = Math.max(0, ...pairs.map(([left]) => left.length));
  return pairs.map(([left, right]) => indent(`${left.padEnd(width)}  ${right}`));
}

function indent(line: string): string {
  return `  ${line}`;
}
