import { parseDuration } from '../engine/duration.ts';
import type { WorkflowEntry } from '../manifest.ts';

/** What an input is counted under: one value, one count. Default: one for the workflow. */
type KeyOf = (input: never) => string | number;

/** `export const concurrency`: how many runs there may be at once. A number is the same as `{ limit }`. */
export type Concurrency =
  | number
  | {
      limit: number;
      key?: KeyOf;
      /** What happens to a start above it. Default `queue`. */
      onConflict?: 'queue' | 'reject';
    };

/** `export const throttle`, and `rateLimit`: how many starts there may be within a period. */
export interface StartRate {
  limit: number;
  /** Milliseconds, or text: `'1m'`, `'2 hours'`. */
  period: number | string;
  key?: KeyOf;
}

/** `export const debounce`: the start waits until there was no other for a period, and the last input wins. */
export interface Debounce {
  /** Milliseconds, or text: `'10s'`. */
  period: number | string;
  /** It begins at the latest so long after the first one. Default: never at the latest. */
  timeout?: number | string;
  key?: KeyOf;
}

/** The settings as they are read: periods in milliseconds. */
export interface FlowPolicy {
  concurrency?: { limit: number; key?: ReadKey; onConflict: 'queue' | 'reject' };
  throttle?: RatePolicy;
  rateLimit?: RatePolicy;
  debounce?: { periodMs: number; timeoutMs?: number; key?: ReadKey };
}
export type ReadKey = (input: unknown) => unknown;
export interface RatePolicy {
  limit: number;
  periodMs: number;
  key?: ReadKey;
}

/** Reads `concurrency`, `throttle`, `rateLimit` and `debounce`. Throws a sentence that says what they may be. */
export function toFlowPolicy(entry: WorkflowEntry, exports: Record<string, unknown>): FlowPolicy {
  const { concurrency, throttle, rateLimit, debounce, serial, mode } = exports;
  if (concurrency !== undefined && serial !== undefined)
    throw new Error(
      `"${entry.file}" exports "serial" and "concurrency". Leave one of them: "serial" is a concurrency of 1.`,
    );
  const waits = Object.entries({ throttle, debounce }).find(([, setting]) => setting !== undefined);
  if (mode === 'chat' && waits)
    throw new Error(
      `"${entry.file}" holds a conversation, which streams from its start and cannot wait. Remove "${waits[0]}".`,
    );
  return {
    ...(concurrency === undefined ? {} : { concurrency: toConcurrency(entry, concurrency) }),
    ...(throttle === undefined ? {} : { throttle: toRate(entry, 'throttle', throttle) }),
    ...(rateLimit === undefined ? {} : { rateLimit: toRate(entry, 'rateLimit', rateLimit) }),
    ...(debounce === undefined ? {} : { debounce: toDebounce(entry, debounce) }),
  };
}

// --- internal ---

const MOST = 1_000;
const MOST_RATED = 1_000_000;
const LONGEST_MS = 366 * 86_400_000;

function toConcurrency({ file }: WorkflowEntry, given: unknown): NonNullable<FlowPolicy['concurrency']> {
  const { limit, key, onConflict = 'queue', ...rest } = read(typeof given === 'number' ? { limit: given } : given);
  const isValid = isCount(limit, MOST) && isKey(key) && (onConflict === 'queue' || onConflict === 'reject');
  if (!isValid || Object.keys(rest).length > 0)
    throw new Error(
      `"concurrency" of "${file}" must be a whole number from 1 to ${MOST}, or { limit, key?: (input) => string, onConflict?: 'queue' | 'reject' }.`,
    );
  return { limit, onConflict, ...(key ? { key } : {}) };
}

function toRate({ file }: WorkflowEntry, name: string, given: unknown): RatePolicy {
  const { limit, period, key, ...rest } = read(given);
  const periodMs = toMs(period);
  if (!isCount(limit, MOST_RATED) || periodMs === undefined || !isKey(key) || Object.keys(rest).length > 0)
    throw new Error(
      `"${name}" of "${file}" must be { limit, period, key?: (input) => string }: a whole number from 1 to ${MOST_RATED}, and a duration such as '1m' of up to 366 days.`,
    );
  return { limit, periodMs, ...(key ? { key } : {}) };
}

function toDebounce({ file }: WorkflowEntry, given: unknown): NonNullable<FlowPolicy['debounce']> {
  const { period, timeout, key, ...rest } = read(given);
  const periodMs = toMs(period);
  const timeoutMs = timeout === undefined ? undefined : toMs(timeout);
  const isTimeout = timeout === undefined || (timeoutMs !== undefined && timeoutMs >= (periodMs ?? 0));
  if (periodMs === undefined || !isTimeout || !isKey(key) || Object.keys(rest).length > 0)
    throw new Error(
      `"debounce" of "${file}" must be { period, timeout?, key?: (input) => string }: durations such as '10s' of up to 366 days, the timeout no shorter than the period.`,
    );
  return { periodMs, ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(key ? { key } : {}) };
}

function read(given: unknown): Record<string, unknown> {
  return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : { wrong: given };
}

function isCount(limit: unknown, most: number): limit is number {
  return Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= most;
}

function isKey(key: unknown): key is ReadKey | undefined {
  return key === undefined || typeof key === 'function';
}

/** Undefined: it is no duration, or none that can be meant. */
function toMs(given: unknown): number | undefined {
  if (typeof given !== 'number' && typeof given !== 'string') return undefined;
  try {
    const ms = Math.ceil(parseDuration(given));
    return ms >= 1 && ms <= LONGEST_MS ? ms : undefined;
  } catch {
    return undefined;
  }
}
