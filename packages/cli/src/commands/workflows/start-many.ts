import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { OperationOutput } from '@svc/runtime/client';
import { openClient, toSegment } from '../../client/client.ts';
import type { Client } from '../../client/client.ts';
import type { Context } from '../../context.ts';
import { CliError, usageError } from '../../errors.ts';
import { checkHeader } from '../../operations/request.ts';
import { itemOf } from '../../payload/payload.ts';
import { READ_PROBLEMS } from '../../terminal/read-input.ts';
import { toPlainText } from '../../terminal/style.ts';
import type { Style } from '../../terminal/style.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import type { StreamRecord } from '../../verb.ts';

export const startManyWorkflows = defineVerb({
  examples: [
    'svc workflows start-many greet --from starts.jsonl',
    'svc workflows start-many greet --from starts.jsonl --idempotency-key k7 --json',
  ],
  args: {
    name: { type: 'positional', required: true, description: 'The workflow.' },
    from: {
      type: 'string',
      valueHint: 'path',
      required: true,
      description: 'A file with a start a line, as JSON: {"input":{},"id":"order-7","delay":"10m"}; - is stdin.',
    },
    'idempotency-key': {
      type: 'string',
      valueHint: 'key',
      description: 'The same key with the same lines starts nothing twice within 24 hours.',
    },
    ...TARGET_ARGS,
  },
  completes: { name: { names: ['workflows'] }, from: { paths: 'files' } },
  payload: itemOf('workflows.start_many'),
  isStream: true,
  async run({ name, from, 'idempotency-key': key, ...target }, context) {
    if (from === undefined) throw usageError('"svc workflows start-many" needs --from.', FOR_EXAMPLE);
    if (key !== undefined) checkHeader('idempotency-key', key);
    const lines = readLines(from, context);
    const asked: Asked = { client: openClient(target, context), name, key };
    return { data: EMPTY, human: () => '', stream: sendAll(asked, lines) };
  },
});

// --- internal ---

const FOR_EXAMPLE = 'For example: svc workflows start-many greet --from starts.jsonl';

type Answer = OperationOutput<'workflows.start_many'>;
type Item = Answer['items'][number];

/** What is printed is the stream. */
const EMPTY = {} as Item;

interface Asked {
  client: Client;
  name: string;
  key: string | undefined;
}

/** What a request takes: so many starts, and less than a mebibyte. */
const MOST_ITEMS = 500;
const MOST_BYTES = 960 * 1_024;

/** Each start once, a request at a time: no more than that is in memory. */
async function* sendAll({ client, name, key }: Asked, lines: AsyncIterable<string>): AsyncGenerator<StreamRecord> {
  let sent = 0;
  let refused = 0;
  for await (const chunk of toChunks(lines)) {
    const answer = await client.send<Answer>({
      method: 'POST',
      path: `/api/workflows/${toSegment(name)}/start-many`,
      body: { items: chunk },
      // Where the lines before are the same, so is what a request of them holds.
      headers: key === undefined ? {} : { 'idempotency-key': `${key} from ${sent}` },
    });
    for (const item of answer.items) yield toRecord({ ...item, index: sent + item.index });
    sent += chunk.length;
    refused += answer.refused;
  }
  if (sent === 0) throw usageError('There is no start in it.', FOR_EXAMPLE);
  if (refused > 0)
    throw new CliError('starts_refused', `${refused} of ${sent} starts were refused; the others were made.`, {
      suggestion: 'Each line above says why. Send those again once that is corrected.',
      details: { sent, refused },
    });
}

function toRecord(item: Item): StreamRecord {
  return { data: item, human: (style) => formatItem(item, style) };
}

function formatItem(item: Item, style: Style): string {
  const line = style.dim(`${item.index + 1}`);
  if (item.status === 'started') return `${line} ${style.green('started')} run ${item.runId}`;
  if (item.status === 'queued') return `${line} ${style.yellow('queued')} start ${item.triggerId}`;
  return `${line} ${style.red('refused')} ${toPlainText(`${item.error.code}: ${item.error.message}`)}`;
}

async function* toChunks(lines: AsyncIterable<string>): AsyncGenerator<unknown[]> {
  let chunk: unknown[] = [];
  let bytes = 0;
  let at = 0;
  for await (const line of lines) {
    at += 1;
    if (line.trim() === '') continue;
    const size = Buffer.byteLength(line) + 1;
    if (chunk.length > 0 && (chunk.length === MOST_ITEMS || bytes + size > MOST_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(parseLine(line, at));
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

function parseLine(line: string, at: number): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    throw new CliError('invalid_json', `Line ${at} is not valid JSON: ${(error as Error).message}.`, {
      suggestion: 'A start is one line. What the lines before it hold has been sent where it is shown above.',
    });
  }
}

function openLines(file: string, { cwd, openStdin }: Context): Readable {
  if (file !== '-') return createReadStream(resolve(cwd, file));
  const stdin = openStdin();
  if (stdin) return Readable.from(stdin);
  throw new CliError('file_unreadable', '--from - reads what a pipe brings, and there is none.', {
    suggestion: 'Name a file, or pipe one in.',
  });
}

/** Opened once the first line is asked for. */
async function* readLines(file: string, context: Context): AsyncGenerator<string> {
  const from = openLines(file, context);
  let failed: NodeJS.ErrnoException | undefined;
  const lines = createInterface({ input: from, crlfDelay: Infinity, signal: context.signal });
  from.on('error', (error: NodeJS.ErrnoException) => {
    failed = error;
    lines.close();
  });
  let isFirst = true;
  try {
    for await (const line of lines) {
      yield isFirst ? line.replace(/^\uFEFF/, '') : line;
      isFirst = false;
    }
  } catch (error) {
    if (error !== failed) throw error;
  }
  if (failed)
    throw new CliError(
      'file_unreadable',
      `The file "${file}" cannot be read: ${READ_PROBLEMS[failed.code ?? ''] ?? failed.message}.`,
      { suggestion: 'Check the path of --from; it is relative to the current folder.' },
    );
}
