import { real } from '../real.ts';

export interface Patience {
  end(): undefined;
}

/** Calls `onOver` after so many milliseconds in which this process could work: a standstill of it does not count. */
export function startPatience(ms: number, onOver: () => void): Patience {
  let left = Math.ceil(ms / STEP_MS);
  const step = (): void => {
    left -= 1;
    if (left <= 0) onOver();
    else timer = real.setTimeout(step, STEP_MS);
  };
  let timer = real.setTimeout(step, STEP_MS);
  return { end: () => void real.clearTimeout(timer) as undefined };
}

// --- internal ---

const STEP_MS = 100;
