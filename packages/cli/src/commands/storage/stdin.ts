import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describeWriteError } from '../../../../create/src/place.ts';
import type { Context } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';

/**
 * Hands over a file with what a pipe brings, which is gone afterwards: an object storage wants to know the length of an object
 * before its first byte. Throws `file_unreadable` where there is no pipe, and for more than an object may have.
 */
export async function withStdin<R>(
  { openStdin, signal }: Pick<Context, 'openStdin' | 'signal'>,
  use: (file: string) => Promise<R>,
): Promise<R> {
  const stdin = openStdin();
  if (!stdin)
    throw new CliError('file_unreadable', 'The file - is what a pipe brings, and there is none.', {
      suggestion: 'Name a file, or pipe one in.',
    });
  // For whoever runs the command alone.
  const folder = await mkdtemp(join(tmpdir(), 'svc-put-'));
  try {
    const file = join(folder, 'stdin');
    await pipeline(limit(stdin), createWriteStream(file, { mode: 0o600 }), { signal }).catch((error: unknown) => {
      throw toError(error, signal);
    });
    return await use(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// --- internal ---

const GIB = 1_024 ** 3;
/** What an object may have that is written with one request. */
const MOST_BYTES = 5 * GIB;

async function* limit(stdin: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let size = 0;
  for await (const piece of stdin) {
    size += piece.byteLength;
    if (size > MOST_BYTES)
      throw new CliError('file_unreadable', 'The pipe brings more than 5 GiB, the most that is uploaded.', {
        suggestion: 'A workflow writes larger ones: svc.storage.put takes a stream.',
      });
    yield piece;
  }
}

function toError(error: unknown, signal: AbortSignal): CliError {
  if (error instanceof CliError) return error;
  if (signal.aborted)
    return new CliError('generic', 'Interrupted.', { exitCode: EXIT.interrupted, suggestion: 'Run it again.' });
  return new CliError(
    'write_failed',
    `What the pipe brings cannot be kept until it is sent: ${describeWriteError(error)}.`,
    {
      suggestion: `Make room in ${tmpdir()}, or have TMPDIR name a folder with more.`,
    },
  );
}
