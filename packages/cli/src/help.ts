import type { ArgDef, ArgsDef } from 'citty';
import type { Style } from './style.ts';
import { isGroup } from './tree.ts';
import type { Found, Group } from './tree.ts';
import { listAliases } from './verb.ts';
import type { Answer, Verb } from './verb.ts';

/** Help of a verb or a group: text for people, the argument schema for programs. */
export async function describe({ path, node }: Found): Promise<Answer> {
  if (isGroup(node)) return describeGroup(path, node);
  return describeVerb({ path, summary: node.summary, verb: await node.load() });
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
  workflows: ['svc workflows list', 'svc workflows start greet --input \'{"name":"Ada"}\''],
  runs: ['svc runs list --status failed', 'svc runs get <id>'],
  contract: ['svc contract show', 'svc contract show --json'],
};

const DOCS = 'Every route of a running box: http://127.0.0.1:4242/api/docs';

interface Described {
  path: string;
  summary: string;
  verb: Verb;
}

function describeGroup(path: string, group: Group): Answer {
  const verbs = listLeaves(group, path ? [path] : []);
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

function describeVerb({ path, summary, verb }: Described): Answer {
  const entries = Object.entries(verb.args);
  const positionals = entries.filter(([, def]) => def.type === 'positional');
  const flags = Object.fromEntries(entries.filter(([, def]) => def.type !== 'positional'));
  const usage = [
    'svc',
    path,
    ...positionals.map(([name, def]) => (def.required ? `<${name}>` : `[${name}]`)),
    '[flags]',
  ];
  return {
    data: {
      command: `svc ${path}`,
      description: summary,
      examples: verb.examples,
      positionals: positionals.map(([name]) => name),
      schema: toArgumentSchema({ ...verb.args, ...GLOBAL_FLAGS }),
    },
    human: (style) =>
      joinSections([
        summary,
        section('Examples', verb.examples.map(indent), style),
        section('Usage', [indent(usage.join(' '))], style),
        section('Arguments', alignPairs(positionals.map(([name, def]) => [name, describeArg(def)])), style),
        section('Flags', flagLines({ ...flags, ...GLOBAL_FLAGS }), style),
        DOCS,
      ]),
  };
}

/** JSON Schema of one object: a property per positional and per flag. */
function toArgumentSchema(args: ArgsDef): object {
  const entries = Object.entries(args);
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, def]) => [
        name,
        {
          type: def.type === 'boolean' ? 'boolean' : 'string',
          description: def.description,
          ...(def.type === 'enum' ? { enum: def.options } : {}),
          ...(def.default === undefined ? {} : { default: def.default }),
        },
      ]),
    ),
    required: entries.filter(([, def]) => def.required).map(([name]) => name),
    additionalProperties: false,
  };
}

function listLeaves(group: Group, words: string[]): { command: string; description: string }[] {
  return Object.entries(group.verbs).flatMap(([word, node]) =>
    isGroup(node)
      ? listLeaves(node, [...words, word])
      : [{ command: ['svc', ...words, word].join(' '), description: node.summary }],
  );
}

function flagLines(flags: ArgsDef): string[] {
  return alignPairs(Object.entries(flags).map(([name, def]) => [formatFlag(name, def), describeArg(def)]));
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
