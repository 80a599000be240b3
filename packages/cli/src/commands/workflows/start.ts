import { setTimeout as sleep } from 'node:timers/promises';
import type { OperationOutput } from '@svc/runtime/client';
import { openClient, toSegment } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import { CliError, EXIT } from '../../errors.ts';
import { formatValue } from '../../terminal/format.ts';
import { answerOf, extend, optional } from '../../payload/payload.ts';
import { checkHeader } from '../../operate/request.ts';
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
    wait: { type: 'boolean', description: 'Wait for the end of the run. Ends with 1 unless it completed.' },
    ...TARGET_ARGS,
  },
  completes: { name: { names: ['workflows'] } },
  payload: extend(answerOf('workflows.start'), {
    run: optional(answerOf('runs.get', 'With --wait: the run once it is over.')),
  }),
  // An empty --input is reported as what it is: not JSON.
  mayBeEmpty: ['input'],
  async run({ name, wait, ...args }, context) {
    const input = await readJson({ flag: 'input', text: args.input, file: args['input-file'] }, context);
    const key = args['idempotency-key'];
    const client = openClient(args, context);
    const receipt = await client.send<Receipt>({
      method: 'POST',
      path: `/api/workflows/${toSegment(name)}/start`,
      body: input === undefined ? {} : input,
      ...(key === undefined ? {} : { headers: { 'idempotency-key': checkHeader('idempotency-key', key) } }),
    });
    if (wait) return answerRun(receipt, await waitForRun(client, receipt, context));
    return {
      data: receipt,
      human: (style) => formatReceipt(receipt, style),
      ...('runId' in receipt ? { hint: `See it with: svc runs get ${receipt.runId}` } : {}),
    };
  },
});

// --- internal ---

type Receipt = OperationOutput<'workflows.start'>;

function formatReceipt(receipt: Receipt, style: Style): string {
  const { workflowName } = receipt;
  if ('runId' in receipt) return `${style.green('Started')} ${workflowName}: run ${receipt.runId}`;
  return `${style.yellow('Queued')} ${workflowName}: it starts when the active run ends.`;
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
  if (isQueued) progress(`Waiting for the turn of ${receipt.workflowName}`);
  const runId = isQueued ? await waitForTurn(client, receipt.triggerId, signal) : receipt.runId;
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

async function waitForTurn(client: Client, triggerId: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    const { runId } = await client.get<{ runId: string | null }>(`/api/runs/${toSegment(triggerId)}/why`);
    if (runId !== null) return runId;
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {
      throw new CliError('generic', 'Interrupted; the start stays queued.', { exitCode: EXIT.interrupted });
    });
  }
}
