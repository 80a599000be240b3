import { LONGEST_WAIT_MS, parseDuration } from '../engine/duration.ts';
import type { WorkflowEntry } from '../manifest.ts';

/** How long the runs of a workflow that says nothing have to clean up when they are cancelled, in milliseconds. */
export const CLEANUP_MS = 30_000;

/**
 * Reads `export const cleanup`: what a cancelled run has for its `catch` and `finally`, in milliseconds. 0: it ends at once.
 * Throws a sentence that says what it may be.
 */
export function toCleanup({ file }: WorkflowEntry, cleanup: unknown): number {
  if (cleanup === undefined) return CLEANUP_MS;
  if (cleanup === false) return 0;
  const ms = toMs(cleanup);
  if (ms !== undefined && ms <= LONGEST_CLEANUP_MS) return ms;
  throw new Error(`"cleanup" of "${file}" must be false, or a duration such as '30s' of up to 24 hours.`);
}

/**
 * Reads `export const timeout`: how long a run may take, in milliseconds. Undefined: as long as it does. Throws a sentence
 * that says what it may be.
 */
export function toRunTimeout({ file }: WorkflowEntry, timeout: unknown): number | undefined {
  if (timeout === undefined) return undefined;
  const ms = toMs(timeout);
  if (ms !== undefined && ms > 0 && ms <= LONGEST_WAIT_MS) return ms;
  throw new Error(`"timeout" of "${file}" must be a duration such as '1h', above 0 and of up to 100 years.`);
}

// --- internal ---

const LONGEST_CLEANUP_MS = 24 * 60 * 60 * 1000;

/** Undefined: it is no duration. */
function toMs(given: unknown): number | undefined {
  if (typeof given !== 'number' && typeof given !== 'string') return undefined;
  try {
    return Math.ceil(parseDuration(given));
  } catch {
    return undefined;
  }
}
