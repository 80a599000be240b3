import { parseWakeTime } from '../duration.ts';
import { FatalError } from '../errors.ts';
import type { RetryableError } from '../errors.ts';
import type { RunPatch } from '../journal/appends.ts';
import type { RunRow, Spent, Tokens } from '../journal/run.ts';
import { decode, decodeToShow, encode, encodeUncompared } from '../serialize.ts';
import { boundValue, isSurelyLarger, sizeOf, tooLargeResult, VALUE_BYTES } from '../values/size.ts';
import { redactEncoded } from '../values/redact.ts';
import type { Redact } from '../values/redact.ts';
import { toText } from '../values/text.ts';

/** How a body ended. */
export type Result = { value: unknown } | { error: unknown };

/** The columns a finished run gets: its output, or the error that ended it. */
export function endOf(result: Result, maxBytes: number, redact?: Redact): RunPatch {
  const rest = { waitingFor: null, wakeAt: null };
  if ('error' in result) return { status: 'failed', error: encodeError(result.error, redact), ...rest };
  try {
    return { status: 'completed', output: encodeResult(result.value, 'output', maxBytes), ...rest };
  } catch (error) {
    return { status: 'failed', error: encodeError(error, redact), ...rest };
  }
}

/** Throws when the value cannot be recorded or is larger than `maxBytes`. */
export function encodeResult(value: unknown, root: string, maxBytes: number): string | null {
  if (value === undefined) return null;
  if (isSurelyLarger(value, maxBytes)) throw tooLargeResult({ value, what: root, limit: maxBytes });
  const text = encodeUncompared(value, root);
  return sizeOf(text, maxBytes) <= maxBytes ? text : boundValue(text, { value, what: root, limit: maxBytes });
}

/**
 * Never throws: of an error that cannot be recorded, or is larger than a value may be, what can be said of it is.
 * `redact`: of what an author's code has thrown.
 */
export function encodeError(error: unknown, redact?: Redact): string {
  try {
    const thrown = error instanceof Error ? error : toError(error);
    const whole = encodeBounded(thrown);
    return redact ? redactEncoded(whole, redact) : whole;
  } catch (reason) {
    return encode(new Error(`An error was thrown that cannot be recorded: ${toText(reason)}`), 'error');
  }
}

/** The `code` of a recorded error. Undefined: it has none, or cannot be read. */
export function codeOfError(error: string | null | undefined): string | undefined {
  try {
    const { code } = (error == null ? {} : decodeToShow(error)) as { code?: unknown };
    return typeof code === 'string' ? code : undefined;
  } catch {
    return undefined;
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
  const message = `The run has ${max} records, the most one may have. ${GO_ON}`;
  return Object.assign(new Error(message), { code: 'run_journal_full' });
}

/** What a run is warned of that comes near the most records it may have. */
export function journalFilling(count: number, max: number): string {
  return `The run has ${count} records of the ${max} that one may have. ${GO_ON}`;
}

/** What a retried run is warned of: the run before has done this after its failure, and may have taken back what is kept. */
export function compensated(steps: readonly string[]): string {
  const names = steps.map((step) => `"${step}"`).join(', ');
  return `The run this one retries went on after what ended it, and completed ${names}. What that took back is still kept as done: retry it with {"from": "start"} to do everything again.`;
}

/** What ends a run whose parent was cancelled before it came to be. */
export function parentCancelled(): Error {
  return Object.assign(new Error('The run that started this one was cancelled.'), { code: 'parent_cancelled' });
}

/** What ends a run that was started to be cancelled when its parent ends. */
export function parentEnded(): Error {
  return Object.assign(new Error('The run that started this one has ended.'), { code: 'parent_ended' });
}

/** What ends a run that has not ended within its time, and what its body gets for all that it awaits. */
export function runTimedOut(timeoutMs: number): Error {
  return Object.assign(new Error(`The run took longer than ${timeoutMs} ms.`), { code: 'run_timeout' });
}

/** What a body gets for a hook whose token another run has. */
export function hookRefused(token: string): string {
  const message = `The hook token "${token}" is already in use by another workflow run that is not final. Choose another.`;
  const name = { value: 'HookConflictError' };
  const error = Object.defineProperty(new Error(message), 'name', name);
  return encodeError(Object.assign(error, { code: 'hook_token_taken', fatal: true }));
}

/** What a body gets for another run that did not complete: its error is the cause. */
export function childFailed(child: RunRow | undefined): string {
  if (!child)
    return encodeError(
      Object.assign(new Error('The run that was waited for has been deleted.'), { code: 'child_gone', fatal: true }),
    );
  const message = `Run ${child.runId} of "${child.name}" ended as ${child.status}.`;
  const cause = child.error === null ? undefined : decode(child.error);
  const { runId } = child;
  return encodeError(
    Object.assign(new Error(message, { cause }), { code: `child_${child.status}`, fatal: true, runId }),
  );
}

export function notOurs(): Error {
  return new Error('The run is not ours any more.');
}

export function tokensOf(run: RunRow): Tokens {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens } = run;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens };
}

export function addTokens(a: Spent, b: Spent): Spent {
  const cost = addCosts(a.cost, b.cost);
  return {
    ...(cost === undefined ? {} : { cost }),
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    totalTokens: a.totalTokens + b.totalTokens,
  };
}

/** Undefined: neither is known. */
export function addCosts(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}

// --- internal ---

/** What is thrown and no error, as one: as in the Workflow SDK, its cause is what was thrown. */
function toError(thrown: unknown): Error {
  const error = new FatalError(`Not an Error was thrown: ${toText(thrown)}`, { cause: thrown });
  // It was made here, and not where it was thrown.
  return Object.assign(error, { stack: `${error.name}: ${error.message}` });
}

const GO_ON =
  'Split the work into child workflows, or go on in a new run of the same chain with svc.continueAsNew(input).';

/** Of a delay, how much may be left out. */
const JITTER = 0.25;

function isSurelyTooLarge(error: Error): boolean {
  try {
    // What an error does not list among its own properties counts too.
    const { message, stack, cause, errors } = error as Error & { errors?: unknown };
    const inner = cause instanceof Error ? { ...cause, message: cause.message } : cause;
    return isSurelyLarger([message, stack, inner, errors, { ...error }], VALUE_BYTES);
  } catch {
    return false;
  }
}

/** The error, or the beginning of one that is too large. */
function encodeBounded(error: Error): string {
  if (isSurelyTooLarge(error)) return encode(shortened(error, `more than ${VALUE_BYTES}`), 'error');
  const text = encode(error, 'error');
  const bytes = sizeOf(text, VALUE_BYTES);
  return bytes <= VALUE_BYTES ? text : encode(shortened(error, bytes), 'error');
}

/** How much is kept of the message and of the stack of an error that is too large, in characters. */
const KEPT_OF_MESSAGE = 2_000;
const KEPT_OF_STACK = 16_000;

/** What decides how it goes on is kept; what its thrower put on it, and its causes, are not. */
function shortened(error: Error, bytes: number | string): Error {
  const { name, message, stack, code, status, fatal } = error as Error & Record<string, unknown>;
  const begin = message.slice(0, KEPT_OF_MESSAGE);
  const text = `${begin}… The error was ${bytes} bytes; ${VALUE_BYTES} may be recorded, so this is its beginning.`;
  const known = Object.entries({ code, status, fatal }).filter(
    ([, value]) => value !== undefined && String(value).length < 200,
  );
  return Object.assign(new Error(text), Object.fromEntries(known), { name, stack: stack?.slice(0, KEPT_OF_STACK) });
}
