/** Frames of a server-sent-event stream, already formatted (`data: …\n\n`). */
export type Frames = AsyncIterable<string>;

const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVE = ': keep-alive\n\n';

/**
 * Streams frames as they come, at the reader's pace, with a comment every 15 seconds so that proxies keep the
 * connection. Ends with the frames; `onGone` is called once when the client goes away first.
 */
export function answerSse(
  frames: Frames,
  options: { onGone?: () => void; headers?: Record<string, string> } = {},
): Response {
  const iterator = frames[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(KEEP_ALIVE));
      }, KEEP_ALIVE_MS);
    },
    async pull(controller) {
      const next = await iterator.next().catch((error: unknown) => {
        clearInterval(timer);
        throw error;
      });
      if (!next.done) return controller.enqueue(encoder.encode(next.value));
      clearInterval(timer);
      controller.close();
    },
    async cancel() {
      clearInterval(timer);
      options.onGone?.();
      await iterator.return?.();
    },
  });
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...options.headers,
    },
  });
}
