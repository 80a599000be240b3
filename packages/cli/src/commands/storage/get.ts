import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { OperationOutput } from '@svc/runtime/client';
import { describeWriteError } from '../../../../create/src/place.ts';
import { openClient } from '../../client/client.ts';
import type { Context } from '../../context.ts';
import { CliError, EXIT, usageError } from '../../errors.ts';
import { integer, object, string } from '../../payload/payload.ts';
import { checkKey } from '../../operations/objects.ts';
import { formatBytes } from '../../terminal/bytes.ts';
import { toPlainText } from '../../terminal/style.ts';
import { defineVerb, TARGET_ARGS } from '../../verb.ts';
import { checkPlace } from '../../workspace/place.ts';
import { ask } from './ask.ts';

export const getObject = defineVerb({
  examples: [
    'svc storage get reports/monday.pdf --out monday.pdf --force',
    'svc storage get logs/day.gz --out - | zcat',
  ],
  args: {
    key: { type: 'positional', required: true, description: 'The key of the object.' },
    out: {
      type: 'string',
      valueHint: 'path',
      description: 'The file to write; - is stdout. Default: what the key ends with.',
    },
    force: { type: 'boolean', description: 'Replace a file that is there.' },
    ...TARGET_ARGS,
  },
  payload: object({
    key: string('The key of the object.'),
    file: string('The file it is in, absolute.'),
    size: integer('In bytes.', { minimum: 0 }),
    contentType: string('What the object says it is.'),
  }),
  async run({ key, out, force, ...target }, context) {
    checkKey('key', key);
    if (out === '-') return print(key, target, context);
    const last = key.split('/').at(-1) ?? '';
    if (out === undefined && !/^[^\\\0]+$/.test(last))
      throw usageError(`The key "${key}" does not end with the name of a file.`, 'Add --out <path>.');
    const file = resolve(context.cwd, out ?? last);
    if (existsSync(file) && !force)
      throw new CliError('already_exists', `"${file}" is there already.`, {
        suggestion: 'Add --force to replace it, or --out to write another file.',
      });
    checkPlace(file, { flag: 'out', kind: 'file' });
    const { answer, found } = await download(key, target, context);
    await write(file, answer, context.signal);
    const { size, contentType } = found;
    return {
      data: { key, file, size, contentType },
      human: (style) =>
        `${style.green('Downloaded')} ${toPlainText(key)}, ${formatBytes(size)}: ${relative(context.cwd, file)}`,
    };
  },
});

// --- internal ---

type Target = Parameters<typeof openClient>[0];

async function download(key: string, target: Target, context: Context) {
  const { url, object: found } = await openClient(target, context).post<OperationOutput<'storage.download'>>(
    '/api/storage/objects/download-url',
    { key },
  );
  return { found, answer: await ask(url, { signal: context.signal }) };
}

/** To stdout, piece by piece: of what breaks off the beginning is there, and the command fails. */
async function print(key: string, target: Target, context: Context) {
  if (context.json)
    throw usageError(
      'With --json the document is what goes to stdout.',
      'Leave out --json, or name a file with --out.',
    );
  const { answer, found } = await download(key, target, context);
  const { size, contentType } = found;
  return {
    data: { key, file: '-', size, contentType },
    human: () => '',
    bytes: readPieces(answer, context.signal),
  };
}

async function* readPieces({ body }: Response, signal: AbortSignal): AsyncIterable<Uint8Array> {
  try {
    yield* body ?? [];
  } catch {
    if (signal.aborted)
      throw new CliError('generic', 'Interrupted.', { exitCode: EXIT.interrupted, suggestion: 'Run it again.' });
    throw new CliError('store_unavailable', 'The object storage broke off in the middle of the object.', {
      suggestion: 'Run it again: what was printed is not all of it.',
    });
  }
}

/** The whole file or none of it. */
async function write(file: string, answer: Response, signal: AbortSignal): Promise<void> {
  const part = `${file}.${process.pid}.new`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    await pipeline(Readable.from(answer.body ?? []), createWriteStream(part), { signal });
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw new CliError('write_failed', `"${file}" cannot be written: ${describeWriteError(error)}.`, {
      suggestion: 'Check the path and who may write there, and run the command again.',
    });
  }
}
