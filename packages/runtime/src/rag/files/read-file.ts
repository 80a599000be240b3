import { Worker } from 'node:worker_threads';
import { BoxError } from '../../errors.ts';
import { real } from '../../engine/real.ts';
import { charsetOf, kindOf } from './kinds.ts';

/** What is in a file, as one text. */
export interface ReadFile {
  /** As the file calls itself. */
  title: string | null;
  /** Whether the text is Markdown: that of HTML and DOCX is made so. */
  format: 'markdown' | 'text';
  text: string;
  /** Where each page begins in the text. Null: it has none. */
  pages: number[] | null;
}

export interface GivenFile {
  name: string;
  /** Its media type, as its sender says. */
  type: string | null;
  /** Handed over: they are gone afterwards. */
  bytes: Uint8Array<ArrayBuffer>;
}

export interface FileReader {
  /**
   * Throws `file_type_unsupported`, `file_unreadable` with the reason, and `too_many_files` while as many are read as may be.
   * `waits`: until one of those is done, in place of that.
   */
  read(file: GivenFile, signal: AbortSignal, how?: { waits?: boolean }): Promise<ReadFile>;
}

/** Bytes of a file. */
export const MOST_FILE_BYTES = 32 * 1024 * 1024;

/**
 * Reads files on threads of their own, each with a limit of time and memory, as a small file may ask its parser for any amount
 * of both.
 */
export function createFileReader({ most, timeoutMs = TIMEOUT_MS }: { most: number; timeoutMs?: number }): FileReader {
  let reading = 0;
  const waiting = new Set<() => void>();
  const isFull = (): boolean => reading >= MOST_AT_ONCE;
  return {
    async read(file, signal, { waits = false } = {}) {
      const kind = kindOf(file);
      if (waits) while (isFull()) await untilCalled(waiting, signal);
      if (isFull()) {
        const message = `${MOST_AT_ONCE} files are being read. Send this one again once one of them is done.`;
        throw new BoxError('too_many_files', message, { details: { retryAfter: 2 } });
      }
      reading += 1;
      try {
        const work = { bytes: file.bytes, kind, charset: charsetOf(file.type), most };
        return await runThread(file.name, work, { signal, timeoutMs });
      } finally {
        reading -= 1;
        for (const next of [...waiting].slice(0, 1)) next();
      }
    },
  };
}

// --- internal ---

/** At a time, in one process. */
const MOST_AT_ONCE = 2;
const TIMEOUT_MS = 120_000;
const HEAP_MB = 512;

/** The one that has waited for longest is called first. */
function untilCalled(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => (): void => {
      waiting.delete(wake);
      signal.removeEventListener('abort', leave);
      settle();
    };
    const wake = end(resolve);
    const leave = end(() => reject(signal.reason as Error));
    waiting.add(wake);
    signal.addEventListener('abort', leave);
  });
}

type Answer = { document: ReadFile } | { reason: string };

async function runThread(
  name: string,
  work: { bytes: Uint8Array<ArrayBuffer> },
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<ReadFile> {
  signal.throwIfAborted();
  // Next to this module in the sources and in the build alike.
  const worker = new Worker(new URL('./file-worker.mjs', import.meta.url), {
    workerData: work,
    transferList: [work.bytes.buffer],
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    stdout: true,
    stderr: true,
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let leave = (): void => {};
  try {
    const answer = await new Promise<Answer>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', (error: Error & { code?: string }) => {
        const isLarge = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
        resolve({
          reason: isLarge ? `reading it takes more than ${HEAP_MB} MiB` : `its reader says "${error.message}"`,
        });
      });
      worker.once('exit', () => resolve({ reason: 'its reader broke off' }));
      leave = () => reject(signal.reason as Error);
      signal.addEventListener('abort', leave);
      timer = real.setTimeout(
        () => resolve({ reason: `reading it takes longer than ${timeoutMs / 1_000} seconds` }),
        timeoutMs,
      );
    });
    if ('document' in answer) return answer.document;
    throw new BoxError('file_unreadable', `The file "${name}" cannot be read: ${answer.reason}.`);
  } finally {
    real.clearTimeout(timer);
    signal.removeEventListener('abort', leave);
    await worker.terminate();
  }
}
