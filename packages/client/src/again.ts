import { ClientError, ClientRunError } from './errors.ts';

/** The box, or a proxy in front of it, is away for a while. */
export function isPassing(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted || error instanceof ClientRunError) return false;
  return error instanceof ClientError ? error.status >= 502 && error.status <= 504 : error instanceof TypeError;
}

/** From half to one and a half of it, so that all who have lost one box do not come back to it at once. */
export function spread(ms: number): number {
  return ms * (0.5 + Math.random());
}

/** How long to wait before each next try, in milliseconds: twice as long as before the last one, spread, up to about `most`. */
export interface Waits {
  next(): number;
  /** It went well: the next wait is the first again. */
  reset(): void;
}

export function createWaits(first: number, most: number): Waits {
  let wait = first;
  return {
    next() {
      const now = wait;
      wait = Math.min(most, wait * 2);
      return spread(now);
    },
    reset: () => void (wait = first),
  };
}

/** Rejects once the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
