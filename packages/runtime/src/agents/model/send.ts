import { setTimeout as wait } from 'node:timers/promises';
import { LONGEST_TIMER_MS } from '../../engine/duration.ts';
import { retryDelay, timedOut } from './provider-error.ts';

export interface CallTime {
  /** Milliseconds the whole call may take. Default: 10 minutes. */
  timeout?: number | undefined;
  signal: AbortSignal;
}

/** One call of the provider, of which nothing goes on once it takes too long or its caller has gone. */
export async function withinTime<T>(
  { timeout = DEFAULT_TIMEOUT_MS, signal }: CallTime,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(timedOut(timeout)), Math.min(timeout, LONGEST_TIMER_MS));
  const onAbort = (): void => ended.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await call(ended.signal);
  } catch (error) {
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Sends a request again that failed in a way that passes. `post` answers with the head of the answer. */
export async function sendAgain(
  post: () => Promise<Response>,
  { maxRetries, signal }: { maxRetries: number | undefined; signal: AbortSignal },
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await post();
    } catch (error) {
      const delay = signal.aborted ? undefined : retryDelay(error, attempt, maxRetries);
      if (delay === undefined) throw error;
      await wait(delay, undefined, { signal });
    }
  }
}

// --- internal ---

const DEFAULT_TIMEOUT_MS = 600_000;
