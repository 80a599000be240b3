import { Worker } from 'node:worker_threads';
import type { BoxError } from '../errors.ts';
import { storeUnavailable } from './client.ts';
import { createDeferred } from './deferred.ts';

/** What the worker can be asked; `pglite-worker.mjs` answers. */
export type WorkerCall =
  | { op: 'query'; text: string; params: unknown[]; rowMode: 'object' | 'array'; prepared?: boolean | undefined }
  | { op: 'exec'; text: string }
  | { op: 'wire'; bytes: Uint8Array; most: number | undefined }
  | { op: 'close' };

/** One worker thread with one database in it, from its start to its end. */
export interface WorkerConnection {
  /** Resolves when the database is open. */
  readonly opened: Promise<void>;
  /** Aborted when the thread is gone, whatever the cause; the reason says which. */
  readonly ended: AbortSignal;
  /** Calls run in the order they are made. */
  call(call: WorkerCall, onChunk?: (chunk: Uint8Array) => void): Promise<unknown>;
  /** Stops the thread at once; what is in flight is rejected with the reason. */
  terminate(reason: BoxError): Promise<void>;
}

export function connectWorker(data: { dataDir: string; template: string | undefined }): WorkerConnection {
  // Next to this module in the sources and in the build alike.
  const worker = new Worker(new URL('./pglite-worker.mjs', import.meta.url), {
    workerData: data,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  });
  const waiting = new Map<number, Waiting>();
  const ended = new AbortController();
  const opened = createDeferred();
  opened.promise.catch(() => {}); // whoever waits for it hears of it
  let lastId = 0;

  const end = (reason: Error): void => {
    if (ended.signal.aborted) return;
    ended.abort(reason);
    opened.reject(reason);
    for (const call of waiting.values()) call.reject(reason);
    waiting.clear();
  };
  worker.on('message', (message: WorkerMessage) => {
    if ('opened' in message) return opened.resolve();
    if ('failed' in message) {
      const cause = toError(message.failed);
      end(storeUnavailable(`The database in "${data.dataDir}" cannot be opened: ${cause.message}`, cause));
      return void worker.terminate();
    }
    const call = waiting.get(message.id);
    if (!call) return;
    if ('chunk' in message) return call.onChunk?.(message.chunk);
    waiting.delete(message.id);
    if ('error' in message) call.reject(toError(message.error));
    else call.resolve(message.value);
  });
  worker.on('error', (error) => end(stopped(data.dataDir, error)));
  worker.on('exit', () => end(stopped(data.dataDir)));

  return {
    opened: opened.promise,
    ended: ended.signal,
    call(call, onChunk) {
      if (ended.signal.aborted) return Promise.reject(ended.signal.reason as Error);
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        // Throws on a value that cannot be copied.
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        worker.postMessage({ id, ...call });
        waiting.set(id, { resolve, reject, onChunk });
      });
    },
    async terminate(reason) {
      end(reason);
      await worker.terminate();
    },
  };
}

// --- internal ---

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
  onChunk: ((chunk: Uint8Array) => void) | undefined;
}

interface PlainError {
  message: string;
  stack?: string;
  fields?: Record<string, unknown>;
}

type WorkerMessage =
  | { opened: true }
  | { failed: PlainError }
  | { id: number; chunk: Uint8Array }
  | { id: number; error: PlainError }
  | { id: number; value: unknown };

function toError({ message, stack, fields }: PlainError): Error {
  const known = Object.entries(fields ?? {}).filter(([, value]) => value !== undefined);
  const error = Object.assign(new Error(message), Object.fromEntries(known));
  if (stack && known.length === 0) error.stack = stack;
  return error;
}

function stopped(dataDir: string, cause?: unknown): BoxError {
  const message = `The database in "${dataDir}" stopped while it was in use. What was in flight may or may not be stored.`;
  return storeUnavailable(message, cause);
}
