import { followHealing } from './healing.ts';
import type { StreamState } from './healing.ts';
import { createShared } from './shared.ts';
import type { Client, StreamEvent } from './index.ts';

export type BoxEvent = StreamEvent<'events.stream'>;

/** The one stream of events that all readers of a client share. It is open while someone listens. */
export interface Connection {
  /** `opened` is called with each connection that is made: what was missed meanwhile is to be read. */
  listen(listener: Listener): () => void;
  state(): ConnectionState;
  /** Once it is open, or that has taken a while. */
  opened(): Promise<void>;
  /** Events of the last moments, oldest first. */
  recent(): readonly BoxEvent[];
}

export interface Listener {
  onEvent(event: BoxEvent): void;
  onOpened(): void;
  onState(state: ConnectionState): void;
}

/** `refusal`: why the box does not open it. */
export interface ConnectionState {
  state: StreamState;
  refusal: Error | undefined;
}

export function createConnection(client: Client): Connection {
  const listeners = new Set<Listener>();
  let recent: BoxEvent[] = [];
  const shared = createShared<ConnectionState>({
    first: CLOSED,
    begin(set) {
      const ending = new AbortController();
      let settle: ReturnType<typeof setTimeout> | undefined;
      const change = (next: Partial<ConnectionState>): void => {
        set(next);
        for (const listener of listeners) listener.onState(shared.get());
      };
      const tellOpened = (): void => {
        for (const listener of listeners) listener.onOpened();
      };
      void followHealing<BoxEvent>({
        signal: ending.signal,
        open: (lastEventId, heard) =>
          client.stream('events.stream', lastEventId === undefined ? {} : { lastEventId }, heard),
        onFrame(event) {
          if (event.event === 'reset') return tellOpened();
          recent.push(event);
          if (recent.length > 2 * RECENT) recent = recent.slice(-RECENT);
          for (const listener of listeners) listener.onEvent(event);
        },
        onState(state) {
          change(state === 'open' ? { state, refusal: undefined } : { state });
          if (state !== 'open') return;
          tellOpened();
          // Another replica may have said its first words before it knew that someone listens.
          clearTimeout(settle);
          settle = setTimeout(tellOpened, SETTLE_MS);
        },
        onRefused: (refusal) => change({ refusal }),
      });
      return () => {
        clearTimeout(settle);
        ending.abort();
        recent = [];
        set(CLOSED);
      };
    },
  });
  return {
    listen(listener) {
      listeners.add(listener);
      const leave = shared.subscribe(() => {});
      return () => {
        listeners.delete(listener);
        leave();
      };
    },
    state: shared.get,
    recent: () => recent,
    opened: () =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          leave();
          resolve();
        };
        const look = (): void => void (shared.get().state === 'open' && done());
        const timer = setTimeout(done, OPENED_MS);
        const leave = shared.subscribe(look);
        look();
      }),
  };
}

// --- internal ---

const CLOSED: ConnectionState = { state: 'opening', refusal: undefined };
const SETTLE_MS = 2_000;
const OPENED_MS = 2_000;
/** Enough for what a run does before the page knows its id. */
const RECENT = 200;
