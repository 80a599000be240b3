// @ts-check
/** `vi.waitFor` and `vi.waitUntil` wait as long as `expect.poll` does (vitest.config.ts), where a test does not say how long: not a second. */
import { vi } from 'vitest';

const POLL_MS = 20_000;
const SET = Symbol.for('svc.polling');

// Files that share a process share `vi`.
if (!(SET in vi)) {
  const { waitFor, waitUntil } = vi;
  /** @type {typeof waitFor} */
  vi.waitFor = (callback, options) => waitFor(callback, withTimeout(options));
  /** @type {typeof waitUntil} */
  vi.waitUntil = (callback, options) => waitUntil(callback, withTimeout(options));
  Object.assign(vi, { [SET]: true });
}

// --- internal ---

/**
 * @param {number | { timeout?: number, interval?: number } | undefined} options
 * @returns {number | { timeout?: number, interval?: number }}
 */
function withTimeout(options) {
  return typeof options === 'number' ? options : { timeout: POLL_MS, ...options };
}
