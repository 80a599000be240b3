import { RETRY_HINT } from './sse.ts';
import type { Frames } from './sse.ts';

/** What a stream is open by: its signal aborts once it is to end. */
export interface OpenBy {
  signal: AbortSignal;
  leave(): void;
}

/** The reason of an abort after which the reader may open the stream again, and is shown what it may see by then. */
export const COMES_BACK = Symbol('comes back');

/**
 * A stream is open for as long as the credential it was opened with is good, and says so last; where the signal aborts
 * with `COMES_BACK`, its reader is asked to come back. `onEnd`: however it came to that.
 */
export async function* untilExpired(frames: Frames, openBy: OpenBy, onEnd: () => void): Frames {
  try {
    const end = yield* untilAborted(frames, openBy.signal, onEnd);
    if (end === 'aborted') yield openBy.signal.reason === COMES_BACK ? RETRY_HINT : AUTH_EXPIRED;
  } finally {
    openBy.leave();
  }
}

/** What comes before the signal aborts. `onEnd`: however it came to an end. */
export async function* untilAborted<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal,
  onEnd: () => void,
): AsyncGenerator<T, 'aborted' | 'done'> {
  // Not one promise for all of them: it would keep every item that was ever raced with it.
  let wake = (): void => {};
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      if (signal.aborted) return 'aborted';
      const next = await new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined);
        iterator.next().then(resolve, reject);
      });
      if (next === undefined) return 'aborted';
      if (next.done) return 'done';
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // First: a reader that waits for a frame hears of its return only once it has one.
    onEnd();
    void iterator.return?.().catch(() => {});
  }
}

// --- internal ---

const AUTH_EXPIRED = 'event: auth_expired\ndata: {}\n\n';
