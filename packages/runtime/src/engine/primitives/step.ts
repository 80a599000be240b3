import type { RetryPolicy } from '../call.ts';
import { currentContext } from '../context.ts';
import { LONGEST_WAIT_MS, parseDuration } from '../duration.ts';
import { decode, encode } from '../serialize.ts';
import { listUnread, readAll } from '../values/unread.ts';

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
  if (context?.kind !== 'body') return Reflect.apply(impl, thisArg, args) as unknown;
  const name = id.slice(id.lastIndexOf('#') + 1);
  const self = isStateless(thisArg) ? undefined : stateOf(thisArg);
  const input = encode(self === undefined ? { args } : { args, this: self }, name);
  return context.execution.invoke({
    kind: 'step',
    stepId: id,
    input,
    action: {
      type: 'run',
      name,
      policy: policyOf(name, fn),
      run() {
        // A step has what was recorded, not the body's own objects: on a replay these would not have changed.
        const isPlain = self === undefined && args.every(isPrimitive);
        if (isPlain) return Reflect.apply(impl, thisArg, args) as unknown;
        const given = decode(input) as { args: unknown[]; this?: object };
        return Reflect.apply(impl, 'this' in given ? withMethods(given.this, thisArg) : thisArg, given.args) as unknown;
      },
      settle(value) {
        const unread = listUnread(value);
        return unread.length > 0 ? readAll(unread) : undefined;
      },
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

function isPrimitive(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** Of an object that is no instance: what it holds besides functions, which the object in the code brings along. */
function stateOf(value: unknown): unknown {
  if (!isPlainObject(value)) return value;
  const state = Object.entries(value).filter(([, item]) => !holdsFunction(item));
  return state.length === 0 ? undefined : Object.fromEntries(state);
}

function withMethods(state: object | undefined, original: unknown): unknown {
  return isPlainObject(original) ? { ...original, ...state } : state;
}

/** A function, or an object such as one of an author's own with more methods. */
function holdsFunction(value: unknown): boolean {
  if (!isPlainObject(value)) return typeof value === 'function';
  return Object.values(value).some(holdsFunction);
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function policyOf(name: string, options: StepOptions): RetryPolicy {
  const { maxRetries = 3, timeout, backoff } = options;
  if (maxRetries === 3 && timeout === undefined && backoff === undefined) return DEFAULT_POLICY;
  return toPolicy(name, { maxRetries, backoff: backoff ?? {}, ...(timeout === undefined ? {} : { timeout }) });
}

function toPolicy(
  name: string,
  { maxRetries, timeout, backoff }: StepOptions & Required<Pick<StepOptions, 'maxRetries' | 'backoff'>>,
): RetryPolicy {
  if (!Number.isInteger(maxRetries) || maxRetries < 0)
    throw new RangeError(`"${name}.maxRetries" is ${maxRetries}; it must be a whole number from 0.`);
  const initial = parseDuration(backoff.initial ?? 1_000);
  const max = Math.min(parseDuration(backoff.max ?? 60_000), LONGEST_WAIT_MS);
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

const DEFAULT_POLICY = toPolicy('step', { maxRetries: 3, backoff: {} });
