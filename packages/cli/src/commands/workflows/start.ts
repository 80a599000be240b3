import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openClient, toSegment } from '../../client.ts';
import { CliError } from '../../errors.ts';
import { AGENT_ARG, defineVerb } from '../../verb.ts';

export const startWorkflow = defineVerb({
  examples: [
    'svc workflows start greet --input \'{"name":"Ada"}\'',
    'svc workflows start greet --input-file input.json --json',
  ],
  args: {
    name: { type: 'positional', required: true, description: 'The workflow.' },
    input: {
      type: 'string',
      valueHint: 'json',
      description: 'The input as JSON; wins over --input-file. Without both: {}.',
    },
    'input-file': { type: 'string', valueHint: 'path', description: 'A file that holds the input as JSON.' },
    agent: AGENT_ARG,
  },
  payload: {
    workflowName: 'The workflow.',
    status: 'started, or queued behind the active run.',
    runId: 'The run; absent when queued.',
    worldRunId: "The engine's own id of the run, which is its trace id; absent when queued.",
    trigger: 'The start route.',
  },
  // An empty --input is reported as what it is: not JSON.
  mayBeEmpty: ['input'],
  async run({ name, agent, ...args }, context) {
    const input = await readInput({ text: args.input, file: args['input-file'], cwd: context.cwd });
    const receipt = await openClient(agent, context).post<Receipt>(`/api/workflows/${toSegment(name)}/start`, input);
    return {
      data: receipt,
      human: (style) =>
        receipt.runId
          ? `${style.green('Started')} ${receipt.workflowName}: run ${receipt.runId}`
          : `${style.yellow('Queued')} ${receipt.workflowName}: it starts when the active run ends.`,
      ...(receipt.runId ? { hint: `See it with: svc runs get ${receipt.runId}` } : {}),
    };
  },
});

// --- internal ---

interface Receipt {
  workflowName: string;
  status: 'started' | 'queued';
  /** Absent when queued. */
  runId?: string;
  worldRunId?: string;
  trigger: string;
}

interface InputArgs {
  text: string | undefined;
  file: string | undefined;
  cwd: string;
}

async function readInput({ text, file, cwd }: InputArgs): Promise<unknown> {
  if (text !== undefined) return parseJson(text, 'The value of --input');
  if (file === undefined) return {};
  const content = await readFile(resolve(cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      'file_unreadable',
      `The file "${file}" cannot be read: ${READ_PROBLEMS[error.code ?? ''] ?? error.message}.`,
      {
        suggestion: 'Check the path of --input-file; it is relative to the current folder.',
      },
    );
  });
  return parseJson(content.replace(/^\uFEFF/, ''), `The file "${file}"`);
}

const READ_PROBLEMS: Record<string, string | undefined> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission is denied',
};

function parseJson(text: string, subject: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CliError('invalid_json', `${subject} is not valid JSON: ${(error as Error).message}.`, {
      suggestion: 'Quote JSON for the shell, as in --input \'{"name":"Ada"}\', or put it into a file for --input-file.',
    });
  }
}
