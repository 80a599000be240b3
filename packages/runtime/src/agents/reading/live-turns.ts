import { createEventQueue } from '../events/event-queue.ts';
import type { Emit, EventBatches } from '../events/turn-events.ts';
import { TOO_SLOW } from '../events/turn-errors.ts';
import { createStepEvents } from './step-events.ts';

/** The readers of the turns that run in this process. */
export interface LiveTurns {
  /** Reads what the turn emits from now on; `push` adds to this reader's stream alone. */
  read(runId: string, how?: HowRead): TurnReader;
  /** Hands on what the turn emits from now on; answers how to stop. */
  tap(runId: string, push: Emit): () => void;
  /** The turn has a reader here. */
  isRead(runId: string): boolean;
  /** How a turn notifies its readers. `isJoined`: readers come in the middle of it, too. */
  emitterOf(runId: string, how?: { isJoined: boolean }): Emit;
  /** Resolves when the readers it waits for are near again, or the signal aborts. Undefined: they are. */
  untilTaken(runId: string, signal: AbortSignal): Promise<void> | undefined;
}

export interface HowRead {
  /** All at once, when the turn has ended. */
  isWhole?: boolean;
  /** The turn is for this reader alone and goes at its pace. Default: it goes on, and a reader that is too slow is cut. */
  isAwaited?: boolean;
  /** First what it has emitted since its last model call began. Default: from now on. */
  isJoining?: boolean;
}

export interface TurnReader {
  batches: EventBatches;
  push: Emit;
  /** Nothing more is read. */
  close(): void;
}

export function createLiveTurns(): LiveTurns {
  const readers = new Map<string, Set<Listener>>();
  const waiting = new Map<string, Set<() => void>>();
  const steps = createStepEvents();
  const enter = (runId: string, listener: Listener): (() => void) => {
    const set = readers.get(runId) ?? new Set();
    readers.set(runId, set.add(listener));
    return () => {
      set.delete(listener);
      if (set.size === 0 && readers.get(runId) === set) readers.delete(runId);
      wake(runId);
    };
  };
  const wake = (runId: string): void => {
    for (const look of waiting.get(runId) ?? []) look();
  };
  const isBehind = (runId: string): boolean => {
    for (const { behind } of readers.get(runId) ?? []) if (behind && behind() > MOST_BEHIND) return true;
    return false;
  };
  const untilNear = (runId: string, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const set = waiting.get(runId) ?? new Set();
      const look = (): void => {
        if (!signal.aborted && isBehind(runId)) return;
        signal.removeEventListener('abort', look);
        set.delete(look);
        if (set.size === 0 && waiting.get(runId) === set) waiting.delete(runId);
        resolve();
      };
      waiting.set(runId, set.add(look));
      signal.addEventListener('abort', look);
      look();
    });
  return {
    tap: (runId, push) => enter(runId, { push }),
    isRead: (runId) => readers.has(runId),
    read(runId, { isWhole = false, isAwaited = false, isJoining = false } = {}) {
      if (isWhole || !isAwaited) {
        const { push, batches } = createEventQueue(isWhole ? { isWhole } : { overflow: OVERFLOW });
        if (isJoining) for (const event of steps.list(runId)) push(event);
        return { batches, push, close: enter(runId, { push }) };
      }
      const queue = createEventQueue({ onTaken: () => wake(runId) });
      const { push, batches } = queue;
      return { batches, push, close: enter(runId, { push, behind: () => queue.behind }) };
    },
    emitterOf:
      (runId, { isJoined } = { isJoined: false }) =>
      (event) => {
        if (isJoined) steps.add(runId, event);
        for (const { push } of readers.get(runId) ?? []) push(event);
      },
    untilTaken: (runId, signal) => (isBehind(runId) ? untilNear(runId, signal) : undefined),
  };
}

// --- internal ---

/** Characters a turn is ahead of a reader it waits for. */
const MOST_BEHIND = 262_144;
/** Four answers of the greatest size that is recorded. */
const OVERFLOW = { characters: 4_194_304, end: TOO_SLOW };

interface Listener {
  push: Emit;
  /** Of a reader the turn waits for. */
  behind?(): number;
}
