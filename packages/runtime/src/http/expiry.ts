import type { Frames } from './sse.ts';

/** A stream is open for as long as the credential it was opened with is good. `onEnd`: however it came to that. */
export async function* untilExpired(frames: Frames, expiresAt: number | undefined, onEnd: () => void): Frames {
  if (expiresAt === undefined) return yield* frames;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, expiresAt - Date.now()), undefined);
  });
  const iterator = frames[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), over]);
      if (next === undefined) return yield AUTH_EXPIRED;
      if (next.done) return;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    // First: a reader that waits for a frame hears of its return only once it has one.
    onEnd();
    void iterator.return?.().catch(() => {});
  }
}

// --- internal ---

const AUTH_EXPIRED = 'event: auth_expired\ndata: {}\n\n';
