import { real } from '../../engine/real.ts';
import { isTerminal } from './turn-events.ts';
import type { Emit, EventBatches, TurnEvent } from './turn-events.ts';
import { createHeldEvents } from './held-events.ts';

/** A stream with one producer and one reader; `push` never waits. */
export interface EventQueue {
  push: Emit;
  /** Ends after the terminal event. */
  batches: EventBatches;
  /** Characters that are held for the reader while more is to come. */
  readonly behind: number;
}

export interface EventQueueOptions {
  /** All of it is read together, once the turn has ended. */
  isWhole?: boolean;
  /**
   * The end of a reader that is too slow: one that is busy with what it took, while more than `characters` are held for
   * it. What is held is dropped, and this is what it reads next. Default: everything is held.
   */
  overflow?: { characters: number; end: TurnEvent };
  /** Called when the reader has taken what there was, and when no more is to come. */
  onTaken?(): void;
}

/** What is pushed in one turn of the event loop is read together in the next. */
export function createEventQueue({ isWhole = false, overflow, onTaken }: EventQueueOptions = {}): EventQueue {
  const held = createHeldEvents(isWhole ? 0 : JOINED_FROM);
  let ended = false;
  let isAwaited = false;
  let wake: (() => void) | undefined;
  return {
    get behind() {
      return ended ? 0 : held.size;
    },
    push(next) {
      if (ended) return;
      const isTooSlow = overflow !== undefined && !isAwaited && held.size > overflow.characters;
      const event = isTooSlow ? overflow.end : next;
      if (isTooSlow) held.take();
      held.add(event);
      ended = isTerminal(event);
      if (ended) onTaken?.();
      if (!wake || (isWhole && !ended)) return;
      // Called from the body of a turn, too, which is refused a timer of its own.
      real.setImmediate(wake);
      wake = undefined;
    },
    batches: {
      // No generator: each of its batches takes three promises.
      [Symbol.asyncIterator]() {
        let isOver = false;
        const take = (): IteratorResult<readonly TurnEvent[]> => {
          const value = held.take();
          isAwaited = false;
          isOver = isTerminal(value.at(-1));
          onTaken?.();
          return { done: false, value };
        };
        return {
          next() {
            if (isOver) return Promise.resolve({ done: true, value: undefined });
            if (isWhole ? ended : held.size > 0) return Promise.resolve(take());
            isAwaited = true;
            return new Promise((resolve) => (wake = () => resolve(take())));
          },
        };
      },
    },
  };
}

// --- internal ---

/** A reader that is this far behind is given fewer and longer pieces. */
const JOINED_FROM = 65_536;
