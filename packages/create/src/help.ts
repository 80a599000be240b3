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

/** The flags of `npm create svc`, by their names. */
export const FLAGS = {
  name: { type: 'string', description: "Its name. Default: from the folder's." },
  with: { type: 'string', hint: 'template', description: 'What it begins with.', enum: TEMPLATES, fallback: 'empty' },
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
const EXAMPLES = ['npm create svc my-workspace', 'npm create svc my-workspace -- --with agent --no-install --json'];

function formatFlag(name: string, { type, short, hint }: Flag): string {
  return `${short ? `-${short}, ` : ''}--${name}${type === 'string' ? ` <${hint ?? name}>` : ''}`;
}

function describeFlag({ description, enum: options, fallback: value }: Flag): string {
  return [description, options && `One of ${options.join(', ')}.`, value && `Default ${value}.`]
    .filter(Boolean)
    .join(' ');
}
