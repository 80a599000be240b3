import { setTimeout as sleep } from 'node:timers/promises';
import type { OperationOutput } from '@svc/runtime/client';
import { openClient, toSegment } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import { CliError, EXIT } from '../../errors.ts';
import { formatValue } from '../../terminal/format.ts';
import { answerOf, extend, optional } from '../../payload/payload.ts';
import { checkHeader } from '../../operations/request.ts';
import { readJson } from '../../terminal/read-input.ts';
import { toPlainText } from '../../terminal/style.ts';
import type { Style } from '../../terminal/style.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import type { Context } from '../../context.ts';
import type { Answer } from '../../verb.ts';
import { FINAL_STATUSES, paintStatus } from '../runs/run.ts';
import type { Run } from '../runs/run.ts';

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
    'idempotency-key': {
      type: 'string',
      valueHint: 'key',
      description: 'The same key starts nothing twice within 24 hours.',
    },
    priority: {
      type: 'string',
      valueHint: 'number',
      description: 'Among the starts that wait for the workflow, higher ones begin first: -1000 to 1000.',
    },
    delay: { type: 'string', valueHint: 'duration', description: 'Begins so much later: 10m, "2 hours".' },
    at: { type: 'string', valueHint: 'time', description: 'Begins at this time: 2030-01-31T09:00:00Z.' },
    timeout: {
      type: 'string',
      valueHint: 'duration',
      description: 'How long the run may take, in place of what its workflow says: 30m, "2 hours".',
    },
    id: {
      type: 'string',
      valueHint: 'id',
      description: 'Your own id for the run; at most one unfinished run of the workflow has it.',
    },
    'on-conflict': {
      type: 'enum',
      options: ['reject', 'join', 'replace'],
      description: 'When an unfinished run has the id: fail, take that run, or cancel it. Default: reject.',
    },
    reuse: {
      type: 'enum',
      options: ['always', 'after-failure', 'never'],
      description: 'Whether a run that has ended leaves its id to another. Default: always.',
    },
    wait: { type: 'boolean', description: 'Wait for the end of the run. Ends with 1 unless it completed.' },
    ...TARGET_ARGS,
  },
  completes: { name: { names: ['workflows'] } },
  elsewhere: { from: 'Use `svc workflows start-many <name> --from <path>`: a start a line.' },
  payload: extend(answerOf('workflows.start'), {
    run: optional(answerOf('runs.get', 'With --wait: the run once it is over.')),
  }),
  // An empty --input is reported as what it is: not JSON.
  mayBeEmpty: ['input'],
  async run({ name, wait, ...args }, context) {
    const input = await readJson({ flag: 'input', text: args.input, file: args['input-file'] }, context);
    const client = openClient(args, context);
    const receipt = await client.send<Receipt>({
      method: 'POST',
      path: `/api/workflows/${toSegment(name)}/start`,
      body: input === undefined ? {} : input,
      headers: toHeaders(args),
    });
    if (wait) return answerRun(receipt, await waitForRun(client, receipt, context));
    return {
      data: receipt,
      human: (style) => formatReceipt(receipt, style),
      hint: 'runId' in receipt ? `See it with: svc runs get ${receipt.runId}` : `See why: svc why ${receipt.triggerId}`,
    };
  },
});

// --- internal ---

/** The header of each flag. */
const HEADERS = {
  'idempotency-key': 'idempotency-key',
  priority: 'x-svc-priority',
  delay: 'x-svc-delay',
  at: 'x-svc-at',
  timeout: 'x-svc-timeout',
  id: 'x-svc-id',
  'on-conflict': 'x-svc-on-conflict',
  reuse: 'x-svc-reuse',
} as const;

function toHeaders(args: { [F in keyof typeof HEADERS]?: string | undefined }): Record<string, string> {
  const names = Object.keys(HEADERS) as (keyof typeof HEADERS)[];
  return Object.fromEntries(
    names.flatMap((flag) => {
      const value = args[flag];
      return value === undefined ? [] : [[HEADERS[flag], checkHeader(flag, value)]];
    }),
  );
}

type Receipt = OperationOutput<'workflows.start'>;
type Queued = Extract<Receipt, { triggerId: string }>;

function formatReceipt(receipt: Receipt, style: Style): string {
  const { workflowName } = receipt;
  if ('runId' in receipt) return `${style.green('Started')} ${workflowName}: run ${receipt.runId}`;
  return `${style.yellow('Queued')} ${workflowName}: start ${receipt.triggerId}`;
}

function answerRun(receipt: Receipt, run: Run): Answer<Receipt & { run: Run }> {
  return {
    data: { ...receipt, run },
    human: (style) => {
      const head = `${style.bold(run.name)}  ${paintStatus(run.status, run.status, style)}  run ${run.runId}`;
      const end = run.error ? run.error.message : run.output === null ? '' : formatValue(run.output);
      return [head, toPlainText(end)].filter(Boolean).join('\n');
    },
    hint: `See it with: svc runs get ${run.runId}`,
    closed: Promise.resolve(run.status === 'completed' ? EXIT.ok : EXIT.generic),
  };
}

/** The run once it is over. A queued start has none until its turn comes. */
async function waitForRun(client: Client, receipt: Receipt, { progress, signal }: Context): Promise<Run> {
  const isQueued = !('runId' in receipt);
  if (isQueued) progress(`Waiting in the queue of ${receipt.workflowName}`);
  const runId = isQueued ? await waitForTurn(client, receipt, signal) : receipt.runId;
  for (let shown = ''; ;) {
    const wait = shown === '' ? '1s' : HOLD;
    const run = await client.get<Run>(`/api/runs/${toSegment(runId)}`, { wait });
    if (FINAL_STATUSES.includes(run.status)) return run;
    if (shown !== run.status) progress(`Run ${runId} is ${run.status}`);
    shown = run.status;
  }
}

/** How long the box holds one answer: a status is shown when it is that old. */
const HOLD = '20s';
const LOOK_MS = 1_000;

async function waitForTurn(client: Client, receipt: Queued, signal: AbortSignal): Promise<string> {
  const path = `/api/workflows/${toSegment(receipt.workflowName)}/queue/${toSegment(receipt.triggerId)}`;
  for (;;) {
    const { runId } = await client.get<OperationOutput<'workflows.queued'>>(path);
    if (runId !== null) return runId;
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {
      throw new CliError('generic', 'Interrupted; the start stays queued.', { exitCode: EXIT.interrupted });
    });
  }
}
