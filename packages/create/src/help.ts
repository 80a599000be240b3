import { DEFAULT_TEMPLATE, OFFERED_TEMPLATE } from './choices.ts';
import { PROVIDER_KEY } from './provider.ts';
import { TEMPLATES } from './source.ts';

export interface Flag {
  type: 'boolean' | 'string';
  description: string;
  short?: string;
  /** What stands for its value in the help. Default: its name. */
  hint?: string;
  enum?: readonly string[];
  /** What it is where it is absent; asked for on a terminal. */
  fallback?: string;
}

/** What the flags that `svc init` has too are for. */
export const TEXTS = {
  provider: 'Its model provider: an endpoint of the chat-completions format, up to and including /v1. Goes into .env.',
  keyStdin: `The key of the provider comes from stdin. Default: that of ${PROVIDER_KEY}.`,
  model: 'The model of every agent that names none. Default: that of a provider which has one alone.',
  yes: 'Ask nothing: what is not named is its default.',
} as const;

/** The flags of `npm create svc`, by their names. */
export const FLAGS = {
  name: { type: 'string', description: "Its name. Default: from the folder's." },
  template: {
    type: 'string',
    description: `What it begins with. On a terminal it is asked for, and Enter is ${OFFERED_TEMPLATE}.`,
    enum: TEMPLATES,
    fallback: DEFAULT_TEMPLATE,
  },
  with: { type: 'string', hint: 'template', description: 'The same, as svc init calls it.', enum: TEMPLATES },
  provider: { type: 'string', hint: 'address', description: TEXTS.provider },
  'key-stdin': { type: 'boolean', description: TEXTS.keyStdin },
  model: { type: 'string', description: TEXTS.model },
  yes: { type: 'boolean', description: TEXTS.yes },
  'no-install': { type: 'boolean', description: 'Leave the packages to be installed later.' },
  force: {
    type: 'boolean',
    description: 'Write into a folder that holds something; files of the same name are replaced.',
  },
  json: { type: 'boolean', description: 'Print one JSON document.' },
  version: { type: 'boolean', short: 'v', description: 'Print the version.' },
  help: { type: 'boolean', short: 'h', description: 'Print this help; with --json the argument schema.' },
} as const satisfies Record<string, Flag>;

/** `--help` for a person. */
export function formatHelp(): string {
  const rows = Object.entries<Flag>(FLAGS).map(([name, flag]) => [formatFlag(name, flag), describeFlag(flag)] as const);
  const width = Math.max(...rows.map(([left]) => left.length));
  return [
    DESCRIPTION,
    ['Examples', ...EXAMPLES.map((line) => `  ${line}`)].join('\n'),
    `Usage\n  ${USAGE}`,
    `Arguments\n  ${'dir'.padEnd(width)}  ${DIR}`,
    ['Flags', ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)].join('\n'),
  ].join('\n\n');
}

/** `--help --json`: the shape `svc <verb> --help --json` has. */
export function describeHelp(): object {
  const flags = Object.entries<Flag>(FLAGS).map(([name, { type, description, enum: options, fallback: value }]) => [
    name,
    { type, description, ...(options ? { enum: options } : {}), ...(value === undefined ? {} : { default: value }) },
  ]);
  return {
    command: 'npm create svc',
    description: DESCRIPTION,
    usage: USAGE,
    examples: EXAMPLES,
    positionals: ['dir'],
    schema: {
      type: 'object',
      properties: { dir: { type: 'string', description: DIR }, ...Object.fromEntries(flags) },
      required: [],
      additionalProperties: false,
    },
  };
}

// --- internal ---

const DESCRIPTION = 'Make a workspace of agents and durable workflows.';
const USAGE = 'npm create svc [dir] -- [flags]';
const DIR = 'The folder to make, or an empty one. Asked for on a terminal.';
const EXAMPLES = [
  'npm create svc my-workspace',
  'npm create svc my-workspace -- --template agent --provider https://provider.example/v1',
];

function formatFlag(name: string, { type, short, hint }: Flag): string {
  return `${short ? `-${short}, ` : ''}--${name}${type === 'string' ? ` <${hint ?? name}>` : ''}`;
}

function describeFlag({ description, enum: options, fallback: value }: Flag): string {
  return [description, options && `One of ${options.join(', ')}.`, value && `Default ${value}.`]
    .filter(Boolean)
    .join(' ');
}
