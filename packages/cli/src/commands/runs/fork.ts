import type { OperationOutput } from '@svc/runtime/client';
import { openClient, toSegment } from '../../client/client.ts';
import { confirmForGood } from '../../confirm.ts';
import { usageError } from '../../errors.ts';
import type { Context } from '../../context.ts';
import { checkHeader } from '../../operations/request.ts';
import { findWholeId } from '../../operations/short-id.ts';
import { answerOf, union } from '../../payload/payload.ts';
import { readJson } from '../../terminal/read-input.ts';
import type { Style } from '../../terminal/style.ts';
import { SAMPLE_ID } from '../../verbs/samples.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { listForkLines } from './fork-preview.ts';
import type { ForkPreview } from './fork-preview.ts';

export const forkRun = defineFork('fork', {
  examples: [`svc runs fork ${SAMPLE_ID} --from charge --dry-run`, `svc runs fork ${SAMPLE_ID} --from 3 --yes`],
});

export const rewindRun = defineFork('rewind', {
  examples: [`svc runs rewind ${SAMPLE_ID} --from charge --dry-run`, `svc runs rewind ${SAMPLE_ID} --from 3 --yes`],
});

// --- internal ---

type Receipt = OperationOutput<'runs.fork'>;

/** Shows what would be executed again, asks, and does exactly that. */
function defineFork(as: ForkPreview['as'], { examples }: { examples: readonly [string, string] }) {
  return defineVerb({
    examples,
    args: {
      id: { type: 'positional', required: true, description: 'The run id.' },
      from: {
        type: 'string',
        required: true,
        valueHint: 'step',
        description: 'The first step that is executed again: its number, its name where there is one of it, or start.',
      },
      args: {
        type: 'string',
        valueHint: 'json',
        description: 'A JSON list of arguments for that step, in the place of its own.',
      },
      input: {
        type: 'string',
        valueHint: 'json',
        description: 'With --from start: the input as JSON, in the place of its own.',
      },
      'idempotency-key': {
        type: 'string',
        valueHint: 'key',
        description: 'The same key makes nothing twice within 24 hours.',
      },
      'dry-run': { type: 'boolean', description: 'Only show what would be executed again.' },
      yes: { type: 'boolean', description: 'Do not ask for confirmation.' },
      ...TARGET_ARGS,
    },
    payload: union(answerOf('runs.fork'), answerOf('runs.fork_preview')),
    // An empty text is reported as what it is: not JSON.
    mayBeEmpty: ['args', 'input'],
    async run({ id, from, yes, 'dry-run': isDry, 'idempotency-key': key, ...given }, context) {
      if ((from as string | undefined) === undefined)
        throw usageError(`"svc runs ${as}" needs --from.`, `For example: ${examples[0]}`);
      const args = await readJson({ flag: 'args', text: given.args, file: undefined }, context);
      if (from.length > LONGEST) throw usageError(`--from does not take "${from}".`, 'Name a step of the run.');
      if (args !== undefined && !Array.isArray(args))
        throw usageError(`--args does not take "${given.args}".`, 'Write a JSON list: --args \'[{"cents":100}]\'.');
      const headers: Record<string, string> =
        key === undefined ? {} : { 'idempotency-key': checkHeader('idempotency-key', key) };
      const input = await readJson({ flag: 'input', text: given.input, file: undefined }, context);
      const client = openClient(given, context);
      const runId = await findWholeId('run', id, () => client);
      const path = `/api/runs/${toSegment(runId)}`;
      const preview = await client.get<ForkPreview>(`${path}/fork`, { from, as });
      if (isDry) return { data: preview, human: (style: Style) => listForkLines(preview, style).join('\n') };
      await ask(preview, { words: `svc runs ${as} ${runId} --from ${from}`, yes, context });
      const receipt = await client.send<Receipt>({
        method: 'POST',
        path: `${path}/${as}`,
        body: {
          from,
          etag: preview.etag,
          ...(args === undefined ? {} : { args }),
          ...(input === undefined ? {} : { input }),
        },
        headers,
      });
      return {
        data: receipt,
        human: (style: Style) => formatReceipt(receipt, style),
        ...('runId' in receipt ? { hint: `See it with: svc runs get ${receipt.runId}` } : {}),
      };
    },
  });
}

/** The talk of a command is wrapped by the terminal. */
const UNWRAPPED = { columns: undefined };

/** Characters of the name of a step. */
const LONGEST = 300;

interface Asking {
  words: string;
  yes: boolean | undefined;
  context: Context;
}

async function ask(preview: ForkPreview, { words, yes, context }: Asking): Promise<void> {
  if (!yes) for (const line of listForkLines(preview, UNWRAPPED)) context.say(line);
  await confirmForGood(words, { isConfirmed: yes === true, context });
}

function formatReceipt(receipt: Receipt, style: Style): string {
  if ('runId' in receipt) return `${style.green('Started')} run ${receipt.runId}`;
  return `${style.yellow('Queued')} start ${receipt.triggerId}`;
}
