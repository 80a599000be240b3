import type { RetryPolicy } from './call.ts';
import { currentContext } from './context.ts';
import { parseDuration } from './duration.ts';
import { runStreamName } from './run-stream.ts';
import { encode } from './serialize.ts';
import { createRunStream } from './writable.ts';

/** What an author may set on a step function: `createAccount.maxRetries = 5`. */
export interface StepOptions {
  /** Attempts after the first. Default 3. */
  maxRetries?: number;
  /** The most one attempt may take: milliseconds or a duration. Default: no limit. */
  timeout?: number | string;
  /** Waiting time between attempts. Default: 1 second, doubled each time, at most 1 minute. */
  backoff?: { initial?: number | string; factor?: number; max?: number | string };
}

type AnyFunction = (...args: never[]) => unknown;

/**
 * Calls a step. In a workflow body the result is recorded once and replayed from then on; anywhere else (a step, a
 * tool, a test) the function simply runs.
 * @param fn carries the author's options; @param impl is the function as written
 */
export function callStep(
  id: string,
  fn: AnyFunction & StepOptions,
  impl: AnyFunction,
  thisArg: unknown,
  args: unknown[],
): unknown {
  const context = currentContext();
  const apply = (self: unknown, values: unknown[]) => Reflect.apply(impl, self, values) as unknown;
  if (context?.kind !== 'body') return apply(thisArg, args);
  const name = id.slice(id.lastIndexOf('#') + 1);
  const self = isStateless(thisArg) ? undefined : thisArg;
  return context.execution.invoke({
    kind: 'step',
    stepId: id,
    input: encode(self === undefined ? { args } : { args, this: self }, name),
    action: {
      type: 'run',
      name,
      policy: policyOf(name, fn),
      run: async () => ({ value: await apply(thisArg, args.map(toStepArgument)) }),
    },
  });
}

/** Wraps an arrow function, a function expression or a method as a step. */
export function createStep<F extends AnyFunction>(id: string, impl: F): F & StepOptions {
  const step = function (this: unknown, ...args: unknown[]): unknown {
    return callStep(id, step as unknown as AnyFunction & StepOptions, impl, this, args);
  } as unknown as F & StepOptions;
  Object.defineProperty(step, 'name', { value: impl.name });
  return step;
}

/** No retries, no limit: for the engine's own steps. */
export const ONCE: RetryPolicy = { maxRetries: 0, delay: () => 0, timeout: undefined };

// --- internal ---

/** A stream the body made is written to as the step that was handed it. */
function toStepArgument(value: unknown): unknown {
  const namespace = runStreamName(value);
  const context = currentContext();
  return namespace === undefined || !context ? value : createRunStream(namespace, context);
}

function policyOf(name: string, options: StepOptions): RetryPolicy {
  const { maxRetries = 3, timeout, backoff = {} } = options;
  if (!Number.isInteger(maxRetries) || maxRetries < 0)
    throw new RangeError(`"${name}.maxRetries" is ${maxRetries}; it must be a whole number from 0.`);
  const initial = parseDuration(backoff.initial ?? 1_000);
  const max = parseDuration(backoff.max ?? 60_000);
  const factor = backoff.factor ?? 2;
  return {
    maxRetries,
    delay: (attempt) => Math.min(max, initial * factor ** (attempt - 1)),
    timeout: timeout === undefined ? undefined : parseDuration(timeout),
  };
}

/** Nothing, a module namespace or a class (of a static method): no state of its own to record. */
function isStateless(value: unknown): boolean {
  if (value === undefined || value === globalThis || typeof value === 'function') return true;
  return Object.prototype.toString.call(value) === '[object Module]';
}
