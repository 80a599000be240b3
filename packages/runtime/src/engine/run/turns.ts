import { runOutside } from '../context.ts';
import { real } from '../real.ts';

/** A run that has something to do. */
export interface Turn {
  /** Delivers the next answer to the body. False: there is none. */
  deliver(): boolean;
  /**
   * The body can go no further on its own: record, begin, end or park.
   * @param hasTicked what it has asked Node to do next (streams, emitters) is done, too
   */
  settle(hasTicked: boolean): void;
}

export interface Turns {
  /** In the next turn of the event loop: `deliver`, or `settle` when there is nothing to deliver. */
  next(turn: Turn): void;
  /** `settle` as soon as every microtask of this moment has run: for a body that has just been resumed. */
  after(turn: Turn): void;
}

/**
 * The turns of all runs of an engine. However many runs wait, one immediate serves them all: each with its async hooks
 * costs as much as a step. A run is delivered one answer a turn, and settles after the microtasks that answer set off.
 */
export function createTurns(): Turns {
  let waiting: Turn[] = [];
  let settling: Turn[] = [];

  const settleAll = (): void => {
    const turns = settling;
    settling = [];
    for (const turn of turns) turn.settle(false);
  };
  const turnAll = (): void => {
    const turns = waiting;
    waiting = [];
    for (const turn of turns) {
      if (turn.deliver()) after(turn);
      else turn.settle(true);
    }
  };
  const after = (turn: Turn): void => {
    // A tick that a microtask asks for comes once all microtasks have run, but not once all ticks have.
    if (settling.push(turn) === 1) runOutside(() => queueMicrotask(() => real.nextTick(settleAll)));
  };
  return {
    next(turn) {
      if (waiting.push(turn) === 1) runOutside(() => real.setImmediate(turnAll));
    },
    after,
  };
}
