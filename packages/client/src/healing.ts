import { createWaits, pause } from './again.ts';
import { ClientError } from './errors.ts';

/** `lost`: for some seconds nothing has come through. */
export type StreamState = 'opening' | 'open' | 'lost';

export interface Healing<F> {
  /** One connection. */
  open(lastEventId: string | undefined, heard: Heard): AsyncIterable<F>;
  /** True: that was the last frame. */
  onFrame(frame: F): boolean | void;
  onState(state: StreamState): void;
  /** What the box refuses, which is tried again all the same: a token may be good the next time. */
  onRefused(error: ClientError): void;
  signal: AbortSignal;
}

/** What a connection says of itself. */
export interface Heard {
  /** Ends it. */
  signal: AbortSignal;
  /** To be called once it is open, and with whatever comes through it. */
  onAlive(): void;
  /** To be called with each id, of a frame without data, too. */
  onId(id: string): void;
}

/** Follows a stream over connections that break off, go silent or are refused, until its last frame or the signal. */
export async function followHealing<F>(stream: Healing<F>): Promise<void> {
  const { signal } = stream;
  let lastEventId: string | undefined;
  const waits = createWaits(FIRST_MS, MOST_MS);
  const onId = (id: string): void => void (lastEventId = id === '' ? undefined : id);
  let late: ReturnType<typeof setTimeout> | undefined;
  // A short loss is no news.
  const lose = (): void => void (late ??= setTimeout(() => stream.onState('lost'), GRACE_MS));
  try {
    while (!signal.aborted) {
      lose();
      const silent = new AbortController();
      const stop = (): void => silent.abort(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      let watch: ReturnType<typeof setTimeout> | undefined;
      let isOpen = false;
      const onAlive = (): void => {
        clearTimeout(watch);
        watch = setTimeout(() => silent.abort(), SILENCE_MS);
        if (isOpen) return;
        isOpen = true;
        waits.reset();
        clearTimeout(late);
        late = undefined;
        stream.onState('open');
      };
      try {
        for await (const frame of stream.open(lastEventId, { signal: silent.signal, onAlive, onId })) {
          if (stream.onFrame(frame)) return;
        }
      } catch (error) {
        if (error instanceof ClientError && !signal.aborted) stream.onRefused(error);
      } finally {
        clearTimeout(watch);
        signal.removeEventListener('abort', stop);
      }
      lose();
      await pause(waits.next(), signal).catch(() => {});
    }
  } finally {
    clearTimeout(late);
  }
}

// --- internal ---

/** Between tries, about: the first, and the most. */
const FIRST_MS = 500;
const MOST_MS = 15_000;
/** How long a loss is no news. */
const GRACE_MS = 2_000;
/** How long nothing at all comes through before a stream is taken for lost: several heartbeats. */
const SILENCE_MS = 50_000;
