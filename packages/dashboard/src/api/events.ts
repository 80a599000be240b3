import type { StreamEvent } from '@svc/runtime/client';
import { pause } from './pause.ts';

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

/** `onAlive`: to be called when it is open, and with whatever comes through it, a heartbeat too. */
export type OpenEvents = (
  lastEventId: string | undefined,
  signal: AbortSignal,
  onAlive: () => void,
) => AsyncIterable<BoxEvent>;

export interface EventsTimes {
  /** Milliseconds between tries: the first, and the most. */
  first: number;
  most: number;
  /** How long a loss is no news. */
  grace: number;
  /** How long nothing at all comes through before the stream is taken for lost: several heartbeats. */
  silence: number;
}

export function createBoxEvents(open: OpenEvents, times: EventsTimes = TIMES): BoxEvents {
  const listeners = new Set<(event: BoxEvent) => void>();
  const watchers = new Set<() => void>();
  let state: StreamState = 'opening';
  let lastId: string | undefined;
  let wasOpen = false;

  const become = (next: StreamState): void => {
    if (state === next) return;
    state = next;
    for (const watcher of watchers) watcher();
  };
  const emit = (event: BoxEvent): void => {
    for (const listener of listeners) listener(event);
  };
  let late: ReturnType<typeof setTimeout> | undefined;
  /** A short loss is no news. */
  const lose = (): void => void (late ??= setTimeout(() => become('lost'), times.grace));
  /** One stream, until it ends, breaks or is silent. */
  const read = async (ending: AbortSignal): Promise<boolean> => {
    const silent = new AbortController();
    const signal = AbortSignal.any([ending, silent.signal]);
    let watch: ReturnType<typeof setTimeout> | undefined;
    let isOpen = false;
    const onAlive = (): void => {
      clearTimeout(watch);
      watch = setTimeout(() => silent.abort(), times.silence);
      if (isOpen) return;
      clearTimeout(late);
      late = undefined;
      isOpen = true;
      become('open');
      // What happened in between is not known where there is no event to go on after.
      if (wasOpen && lastId === undefined) emit({ event: 'reset', data: {} });
      wasOpen = true;
    };
    try {
      for await (const event of open(lastId, signal, onAlive)) {
        lastId = event.id ?? lastId;
        emit(event);
      }
    } catch {
      // It is tried again, whatever it was; what the person sees says so.
    } finally {
      clearTimeout(watch);
    }
    return isOpen;
  };
  const follow = async (signal: AbortSignal): Promise<void> => {
    let wait = times.first;
    while (!signal.aborted) {
      lose();
      if (await read(signal)) wait = times.first;
      lose();
      await pause(wait, signal);
      wait = Math.min(times.most, wait * 2);
    }
    clearTimeout(late);
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

const TIMES: EventsTimes = { first: 500, most: 15_000, grace: 2_000, silence: 50_000 };
