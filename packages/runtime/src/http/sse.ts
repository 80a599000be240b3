/** Frames of a server-sent-event stream, already formatted (`data: …\n\n`). */
export type Frames = AsyncIterable<string>;

const KEEP_ALIVE_MS = 15_000;
export const KEEP_ALIVE = ': keep-alive\n\n';
/** Says first when to reconnect. */
export const RECONNECT = 'retry: 2000\n\n';
/** Says the same to the client of a box that shuts down. */
export const RETRY_HINT = 'retry: 1000\n\n';
/** How long a client may take nothing while there is something for it. */
export const STALL_MS = 60_000;
/** Bytes handed on at once: that a client takes a part of what is more is seen, and it is kept. */
const PIECE = 32_768;

export interface SseOptions {
  onGone?: () => void;
  headers?: Record<string, string>;
  keepAlive?: string;
  /** Milliseconds, for tests. */
  keepAliveMs?: number;
  stallMs?: number;
}

/**
 * Streams frames as they come, at the reader's pace, with a comment every 15 seconds, or the frame given for it, so
 * that proxies keep the connection. Ends with the frames; `onGone` is called once when the client goes away first. One
 * that takes nothing for a minute is cut, so that what waits for it does not pile up.
 */
export function answerSse(frames: Frames, options: SseOptions = {}): Response {
  const { keepAliveMs = KEEP_ALIVE_MS, stallMs = STALL_MS } = options;
  const iterator = frames[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const keepAlive = encoder.encode(options.keepAlive ?? KEEP_ALIVE);
  let timer: ReturnType<typeof setInterval> | undefined;
  let takenAt = performance.now();
  /** Of a frame that is handed on piece by piece. */
  let rest: Uint8Array | undefined;
  const leave = async () => {
    clearInterval(timer);
    rest = undefined;
    options.onGone?.();
    await iterator.return?.();
  };
  const handOn = (controller: ReadableStreamDefaultController<Uint8Array>, bytes: Uint8Array): void => {
    rest = bytes.byteLength > PIECE ? bytes.subarray(PIECE) : undefined;
    controller.enqueue(rest ? bytes.subarray(0, PIECE) : bytes);
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        if (!rest && (controller.desiredSize ?? 0) > 0) return controller.enqueue(keepAlive);
        if (performance.now() - takenAt < stallMs) return;
        controller.error(new Error('The client takes nothing.'));
        void leave();
      }, keepAliveMs);
    },
    async pull(controller) {
      takenAt = performance.now();
      if (rest) return handOn(controller, rest);
      const next = await iterator.next().catch((error: unknown) => {
        clearInterval(timer);
        throw error;
      });
      if (!next.done) return handOn(controller, encoder.encode(next.value));
      clearInterval(timer);
      controller.close();
    },
    cancel: leave,
  });
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ...options.headers,
    },
  });
}
