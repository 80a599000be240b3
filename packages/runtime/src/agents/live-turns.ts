import type { Emit, EventBatches } from '../wires/events.ts';
import { createEventQueue } from '../wires/events.ts';

/** Who reads the turns that run in this process. */
export interface LiveTurns {
  /**
   * Reads what the turn tells from now on; `push` adds to this reader's stream alone.
   * @param how `isWhole`: all at once, when the turn has ended
   */
  read(runId: string, how?: { isWhole?: boolean }): TurnReader;
  /** Hands on what the turn tells from now on; answers how to stop. */
  tap(runId: string, push: Emit): () => void;
  /** Somebody reads the turn here. */
  isRead(runId: string): boolean;
  /** How a turn tells its readers. */
  emitterOf(runId: string): Emit;
}

export interface TurnReader {
  batches: EventBatches;
  push: Emit;
  /** Nothing more is read. */
  close(): void;
}

export function createLiveTurns(): LiveTurns {
  const readers = new Map<string, Set<Emit>>();
  const tap: LiveTurns['tap'] = (runId, push) => {
    const set = readers.get(runId) ?? new Set();
    readers.set(runId, set.add(push));
    return () => {
      set.delete(push);
      if (set.size === 0 && readers.get(runId) === set) readers.delete(runId);
    };
  };
  return {
    tap,
    isRead: (runId) => readers.has(runId),
    read(runId, how) {
      const { push, batches } = createEventQueue(how);
      return { batches, push, close: tap(runId, push) };
    },
    emitterOf: (runId) => (event) => {
      for (const push of readers.get(runId) ?? []) push(event);
    },
  };
}
