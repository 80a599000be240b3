import { LONGEST_TIMER_MS } from '../duration.ts';
import { real } from '../real.ts';

export interface Pulse {
  beat(): void;
  stop(): void;
}

/**
 * Calls `onLost` once no beat has come for `ms`, or up to a tenth more. A beat costs no timer, however often it comes,
 * and a standstill of this process, in which nothing can beat, counts as one part of ten at most.
 */
export function startPulse(ms: number, onLost: () => void): Pulse {
  const part = Math.min(Math.ceil(ms / PARTS), LONGEST_TIMER_MS);
  let left = PARTS;
  const look = (): void => {
    left -= 1;
    if (left <= 0) onLost();
    else timer = real.setTimeout(look, part);
  };
  let timer = real.setTimeout(look, part);
  return {
    beat() {
      // The part that is under way may be nearly over.
      left = PARTS + 1;
    },
    stop: () => real.clearTimeout(timer),
  };
}

// --- internal ---

const PARTS = 10;
