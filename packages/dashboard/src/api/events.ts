import type { StreamEvent } from '@svc/runtime/client';

export type BoxEvent = StreamEvent<'events.stream'>;
/** `lost`: for some seconds nothing has come through. */
export type StreamState = 'opening' | 'open' | 'lost';

/** The one stream of all that happens, which goes on after a loss. */
export interface BoxEvents {
  /** Begins to read; answers what ends it. */
  start(): () => void;
  on(listener: (event: BoxEvent) => void): () => void;
  state(): StreamState;
  onState(listener: () => void): () => void;
}

export type OpenEvents = (lastEventId: string | undefined, signal: AbortSignal) => AsyncIterable<BoxEvent>;

export interface EventsTimes {
  /** Milliseconds between tries: the first, and the most. */
  first: number;
  most: number;
  /** How long a loss is no news. */
  grace: number;
}

export function createBoxEvents(open: OpenEvents, times: EventsTimes = TIMES): BoxEvents {
  const listeners = new Set<(event: BoxEvent) => void>();
  const watchers = new Set<() => void>();
  let state: StreamState = 'opening';
  let lastId: string | undefined;

  const become = (next: StreamState): void => {
    if (state === next) return;
    state = next;
    for (const watcher of watchers) watcher();
  };
  const read = async (signal: AbortSignal, onOpen: () => void): Promise<void> => {
    for await (const event of open(lastId, signal)) {
      onOpen();
      lastId = event.id ?? lastId;
      for (const listener of listeners) listener(event);
    }
  };
  const follow = async (signal: AbortSignal): Promise<void> => {
    let wait = times.first;
    while (!signal.aborted) {
      const late = setTimeout(() => become('lost'), times.grace);
      try {
        await read(signal, () => {
          clearTimeout(late);
          wait = times.first;
          become('open');
        });
      } catch {
        // It is tried again, whatever it was; what the person sees says so.
      }
      clearTimeout(late);
      if (signal.aborted) return;
      await pause(wait, signal);
      if (wait >= times.grace) become('lost');
      wait = Math.min(times.most, wait * 2);
    }
  };

  return {
    start() {
      const ending = new AbortController();
      void follow(ending.signal);
      return () => ending.abort();
    },
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    state: () => state,
    onState(listener) {
      watchers.add(listener);
      return () => watchers.delete(listener);
    },
  };
}

// --- internal ---

const TIMES: EventsTimes = { first: 500, most: 15_000, grace: 2_000 };

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
