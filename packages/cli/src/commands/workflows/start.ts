import { setTimeout as sleep } from 'node:timers/promises';
import { openClient, toSegment } from '../../client.ts';
import type { Client } from '../../client.ts';
import { CliError, EXIT } from '../../errors.ts';
import { formatValue } from '../../format.ts';
import { readJson } from '../../read-input.ts';
import { toPlainText } from '../../style.ts';
import type { Style } from '../../style.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import type { Answer, Context } from '../../verb.ts';
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
  payload: {
    workflowName: 'The workflow.',
    status: 'started, or queued behind the active run.',
    runId: 'The run; absent when queued.',
    worldRunId: "The engine's own id of the run, which is its trace id; absent when queued.",
    trigger: 'The start route.',
    run: 'With --wait: the run once it is over.',
  },
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
      ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
    });
    if (wait) return answerRun(receipt, await waitForRun(client, receipt, context));
    return {
      data: receipt,
      human: (style) => formatReceipt(receipt, style),
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
  /** Of a start that is queued. */
  triggerId?: string;
  trigger: string;
}

function formatReceipt({ workflowName, runId }: Receipt, style: Style): string {
  if (runId) return `${style.green('Started')} ${workflowName}: run ${runId}`;
  return `${style.yellow('Queued')} ${workflowName}: it starts when the active run ends.`;
}

function answerRun(receipt: Receipt, run: Run): Answer {
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
  if (!receipt.runId) progress(`Waiting for the turn of ${receipt.workflowName}`);
  const runId = receipt.runId ?? (await waitForTurn(client, receipt.triggerId ?? '', signal));
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
