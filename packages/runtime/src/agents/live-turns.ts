import type { Emit, TurnEvent } from '../wires/events.ts';
import { createEventQueue } from '../wires/events.ts';

/** Who reads the turns that run in this process. */
export interface LiveTurns {
  /** Reads what the turn tells from now on; `push` adds to this reader's stream alone. */
  read(runId: string): TurnReader;
  /** How a turn tells its readers. */
  emitterOf(runId: string): Emit;
}

export interface TurnReader {
  events: AsyncIterable<TurnEvent>;
  push: Emit;
  /** Nothing more is read. */
  close(): void;
}

export function createLiveTurns(): LiveTurns {
  const readers = new Map<string, Set<Emit>>();
  return {
    read(runId) {
      const { push, events } = createEventQueue();
      const set = readers.get(runId) ?? new Set();
      readers.set(runId, set.add(push));
      return {
        events,
        push,
        close() {
          set.delete(push);
          if (set.size === 0 && readers.get(runId) === set) readers.delete(runId);
        },
      };
    },
    emitterOf: (runId) => (event) => {
      for (const push of readers.get(runId) ?? []) push(event);
    },
  };
}
