import { parseWakeTime } from '../duration.ts';
import type { RetryableError } from '../errors.ts';
import type { RunPatch } from '../journal/appends.ts';
import type { RunRow, Tokens } from '../journal/run.ts';
import { decode, encode } from '../serialize.ts';
import { toText } from '../values/text.ts';

/** How a body ended. */
export type Result = { value: unknown } | { error: unknown };

/** The columns a finished run gets: its output, or the error that ended it. */
export function endOf(result: Result, maxBytes: number): RunPatch {
  const rest = { waitingFor: null, wakeAt: null };
  if ('error' in result) return { status: 'failed', error: encodeError(result.error), ...rest };
  try {
    return { status: 'completed', output: encodeResult(result.value, 'output', maxBytes), ...rest };
  } catch (error) {
    return { status: 'failed', error: encodeError(error), ...rest };
  }
}

/** Throws when the value cannot be recorded or is larger than `maxBytes`. */
export function encodeResult(value: unknown, root: string, maxBytes: number): string | null {
  if (value === undefined) return null;
  const text = encode(value, root);
  const bytes = text.length * 3 <= maxBytes ? text.length : Buffer.byteLength(text);
  if (bytes <= maxBytes) return text;
  throw Object.assign(
    new Error(`The ${root} is ${bytes} bytes; ${maxBytes} may be recorded. Store it elsewhere and return a reference.`),
    { code: 'result_too_large', fatal: true, bytes, limit: maxBytes },
  );
}

/** Never throws: of an error that cannot be recorded, what can be said of it is. */
export function encodeError(error: unknown): string {
  try {
    return encode(error instanceof Error ? error : new Error(`Not an Error was thrown: ${toText(error)}`), 'error');
  } catch (reason) {
    return encode(new Error(`The step threw an error that cannot be recorded: ${toText(reason)}`), 'error');
  }
}

export function isFatal(error: unknown): boolean {
  try {
    return typeof error === 'object' && error !== null && (error as { fatal?: unknown }).fatal === true;
  } catch {
    // A property that throws when it is read.
    return false;
  }
}

/**
 * When the next attempt is due: the author's `retryAfter`, else `delay` milliseconds from now or up to a quarter of that
 * sooner, so that runs that failed together do not come back together.
 */
export function retryTime(error: unknown, now: number, delay: number): number {
  const soon = Math.ceil(now + delay * (1 - JITTER * Math.random()));
  try {
    const retryable = error as Partial<RetryableError> | null | undefined;
    if (retryable?.name !== 'RetryableError' || retryable.retryAfter === undefined) return soon;
    return parseWakeTime(retryable.retryAfter, now);
  } catch {
    return soon;
  }
}

export function journalFull(max: number): Error {
  const message = `The run has ${max} records, the most one may have. Split the work into child workflows.`;
  return Object.assign(new Error(message), { code: 'run_journal_full' });
}

/** What ends a run whose attempts kill their process. `mark`: what it was about to run each time. */
export function runPoisoned({ crashCount, mark }: RunRow): Error {
  const { steps = [] } = JSON.parse(mark ?? '{}') as { steps?: string[] };
  const names = steps.map((stepId) => `"${stepId}"`).join(' and ');
  const what =
    steps.length === 0 ? 'the body, before its next step' : `the step${steps.length > 1 ? 's' : ''} ${names}`;
  const message = `The process died ${crashCount} times while this run ran ${what}. Correct the code, then retry the run.`;
  return Object.assign(new Error(message), { code: 'run_poisoned' });
}

/** What ends a run whose parent was cancelled before it came to be. */
export function parentCancelled(): Error {
  return Object.assign(new Error('The run that started this one was cancelled.'), { code: 'parent_cancelled' });
}

/** What a body gets for a hook whose token another run has. */
export function hookRefused(token: string): string {
  const message = `The hook token "${token}" belongs to another run that is not final. Choose another token.`;
  const name = { value: 'HookConflictError' };
  const error = Object.defineProperty(new Error(message), 'name', name);
  return encodeError(Object.assign(error, { code: 'hook_token_taken', fatal: true }));
}

/** What a body gets for another run that did not complete: its error is the cause. */
export function childFailed(child: RunRow | undefined): string {
  if (!child)
    return encodeError(
      Object.assign(new Error('The run that was waited for is gone.'), { code: 'child_gone', fatal: true }),
    );
  const message = `Run ${child.runId} of "${child.name}" ended as ${child.status}.`;
  const cause = child.error === null ? undefined : decode(child.error);
  const { runId } = child;
  return encodeError(
    Object.assign(new Error(message, { cause }), { code: `child_${child.status}`, fatal: true, runId }),
  );
}

export function tokensOf(run: RunRow): Tokens {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens } = run;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens };
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    totalTokens: a.totalTokens + b.totalTokens,
  };
}

// --- internal ---

/** Of a delay, how much may be left out. */
const JITTER = 0.25;
