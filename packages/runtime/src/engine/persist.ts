import { BoxError } from '../errors.ts';
import { real } from './real.ts';

/** Repeats a call that is safe to repeat until the store takes it, or for `limitMs`; then it throws what the store threw last. */
export async function persist<T>(
  call: () => Promise<T>,
  limitMs: number,
  mayPass: (error: unknown) => boolean = () => true,
): Promise<T> {
  const giveUp = real.performanceNow() + limitMs;
  for (let delay = FIRST_PAUSE_MS; ; delay = Math.min(delay * 2, LONGEST_PAUSE_MS)) {
    try {
      return await call();
    } catch (error) {
      if (!mayPass(error) || real.performanceNow() + delay > giveUp) throw error;
      await new Promise((resolve) => real.setTimeout(resolve, delay));
    }
  }
}

/** The store cannot be reached or has no room: an answer that changes by itself. */
export function isStoreDown(error: unknown): boolean {
  return error instanceof BoxError && (error.code === 'store_unavailable' || error.code === 'store_full');
}

// --- internal ---

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
