import type { Frames } from '../http/sse.ts';

/** One client of the stream. */
export interface Reader {
  frames: Frames;
  push(frame: string): void;
  /** After what is held, and `last`. */
  end(last?: string): void;
}

export interface ReaderOptions {
  /** What it is sent first. */
  first: readonly string[];
  /** Bytes held for a client that does not read; one more and it is disconnected. */
  maxBytes: number;
  /** Called once. */
  onEnd(): void;
}

/** Holds frames until they are read. A client that was disconnected comes back with the id of the last one it has. */
export function createReader({ first, maxBytes, onEnd }: ReaderOptions): Reader {
  let held = [...first];
  let bytes = 0;
  let isOpen = true;
  let wake: (() => void) | undefined;

  const stop = (): void => {
    if (!isOpen) return;
    isOpen = false;
    onEnd();
    wake?.();
  };
  const next = async (): Promise<IteratorResult<string>> => {
    for (;;) {
      const frame = held.shift();
      if (frame !== undefined) {
        bytes = Math.max(0, bytes - Buffer.byteLength(frame));
        return { done: false, value: frame };
      }
      if (!isOpen) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  return {
    frames: {
      [Symbol.asyncIterator]: () => ({
        next,
        async return() {
          held = [];
          stop();
          return { done: true, value: undefined };
        },
      }),
    },
    push(frame) {
      if (!isOpen) return;
      bytes += Buffer.byteLength(frame);
      if (bytes > maxBytes) {
        held = [];
        return stop();
      }
      held.push(frame);
      wake?.();
    },
    end(last) {
      if (isOpen && last !== undefined) held.push(last);
      stop();
    },
  };
}
