import { findBoxError } from '../errors.ts';
import { real } from './real.ts';

/** Repeats a call that is safe to repeat until the store takes it, or for `limitMs`; then it throws what the store threw last. */
export async function persist<T>(
  call: () => Promise<T>,
  limitMs: number,
  mayPass: (error: unknown) => boolean = () => true,
): Promise<T> {
  const giveUp = real.performanceNow() + limitMs;
  try {
    return await call();
  } catch (error) {
    return persistAfter(error, call, { giveUp, mayPass });
  }
}

/** What `persist` does once the call has failed, for whoever made the first one. `giveUp`: on the monotonic clock. */
export async function persistAfter<T>(
  failed: unknown,
  call: () => Promise<T>,
  { giveUp, mayPass = () => true }: { giveUp: number; mayPass?: (error: unknown) => boolean },
): Promise<T> {
  let last = failed;
  for (let delay = FIRST_PAUSE_MS; ; delay = Math.min(delay * 2, LONGEST_PAUSE_MS)) {
    if (!mayPass(last) || real.performanceNow() + delay > giveUp) throw last;
    await new Promise((resolve) => real.setTimeout(resolve, delay));
    try {
      return await call();
    } catch (error) {
      last = error;
    }
  }
}

/** The store cannot be reached or has no room: an answer that changes by itself. */
export function isStoreDown(error: unknown): boolean {
  const code = findBoxError(error)?.code;
  return code === 'store_unavailable' || code === 'store_full';
}

// --- internal ---

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
