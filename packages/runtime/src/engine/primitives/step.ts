import type { RetryPolicy } from '../call.ts';
import { currentContext } from '../context.ts';
import { LONGEST_WAIT_MS, parseDuration } from '../duration.ts';
import { decode } from '../serialize.ts';
import { findClosure, keepClosure, registerStep } from '../values/steps.ts';
import type { StepFactory } from '../values/registry.ts';
import { listUnread, readAll } from '../values/unread.ts';

/** What an author may set on a step function: `createAccount.maxRetries = 5`. */
export interface StepOptions {
  /** Attempts after the first. Default 3. */
  maxRetries?: number;
  /** The most one attempt may take: milliseconds or a duration. Default: no limit. */
  timeout?: number | string;
  /**
   * The most that may pass between two calls of `heartbeat()` in one attempt, and before the first: milliseconds or a
   * duration. An attempt that stops calling it fails with `step_heartbeat_timeout`. Default: it need not call it.
   */
  heartbeatTimeout?: number | string;
  /** Waiting time between attempts. Default: 1 second, doubled each time, at most 1 minute. */
  backoff?: { initial?: number | string; factor?: number; max?: number | string };
}

type AnyFunction = (...args: never[]) => unknown;

/**
 * Calls a step. In a workflow body the result is recorded once and replayed from then on; anywhere else (a step, a
 * tool, a test) the function simply runs.
 * @param fn carries the author's options
 * @param impl is the function as written; null: it is inside of another function, and is made of what it uses there
 * @param capture answers what that is
 */
export function callStep(
  id: string,
  fn: AnyFunction & StepOptions,
  impl: AnyFunction | null,
  thisArg: unknown,
  args: unknown[],
  capture?: () => object,
): unknown {
  const context = currentContext();
  const closure = capture?.();
  const made = impl ?? makeImpl(id, fn, closure);
  if (context?.kind !== 'body') return Reflect.apply(made, thisArg, args) as unknown;
  const name = nameOf(id);
  const self = isStateless(thisArg) ? undefined : stateOf(thisArg);
  const given = self === undefined ? { args } : { args, this: self };
  const all = closure === undefined ? given : { ...given, closure };
  const written = context.execution.write({ value: all, stepId: id, root: name });
  /** A step has what was recorded, not the body's own objects: on a replay these would not have changed. */
  const runRecorded = (text: string): unknown => {
    const recorded = decode(text) as { args: unknown[]; this?: object; closure?: object };
    const work = recorded.closure === undefined ? made : makeImpl(id, fn, recorded.closure);
    const own = 'this' in recorded ? withMethods(recorded.this, thisArg) : thisArg;
    return Reflect.apply(work, own, recorded.args) as unknown;
  };
  return context.execution.invoke({
    kind: 'step',
    stepId: id,
    ...written,
    action: {
      type: 'run',
      name,
      policy: policyOf(name, fn),
      run() {
        const isPlain = self === undefined && closure === undefined && args.every(isPrimitive);
        return isPlain ? (Reflect.apply(made, thisArg, args) as unknown) : runRecorded(written.input);
      },
      withInput: (text) => () => runRecorded(text),
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
  registerStep(step, id);
  return step;
}

/** Keeps how a step that is inside of another function is made, before that function has run. */
export function registerClosure(id: string, factory: StepFactory): void {
  keepClosure(id, { factory, bind: (closure) => createClosure(id, closure && (() => closure)) });
}

/** Such a step, as a function. `capture` answers what it uses of the function around it, when it is called. */
export function createClosure(id: string, capture?: () => object): AnyFunction & StepOptions {
  const step = function (this: unknown, ...args: unknown[]): unknown {
    return callStep(id, step as unknown as AnyFunction & StepOptions, null, this, args, capture);
  } as unknown as AnyFunction & StepOptions;
  Object.defineProperty(step, 'name', { value: nameOf(id).replace(/^.*\./, '') });
  registerStep(step, id, capture);
  return step;
}

/** Makes the getter of a class a step: reading it calls the step, with the object as `this`. */
export function createGetterStep(id: string, owner: object, key: string): void {
  const { get, ...descriptor } = Object.getOwnPropertyDescriptor(owner, key) ?? {};
  if (get)
    Object.defineProperty(owner, key, { ...descriptor, get: createStep(id, get as AnyFunction) as () => unknown });
}

/** No retries, no limit: for the engine's own steps. */
export const ONCE: RetryPolicy = { maxRetries: 0, delay: () => 0, timeout: undefined };

// --- internal ---

function makeImpl(id: string, fn: AnyFunction, closure: object = {}): AnyFunction {
  const known = findClosure(id);
  if (!known) throw new Error(`The step "${id}" is not loaded.`);
  return known.factory(closure as never, fn);
}

function nameOf(id: string): string {
  return id.slice(id.lastIndexOf('#') + 1);
}

function isPrimitive(value: unknown): boolean {
  return (typeof value !== 'object' && typeof value !== 'function') || value === null;
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
  const { maxRetries = 3, timeout, heartbeatTimeout, backoff } = options;
  const isPlain = timeout === undefined && heartbeatTimeout === undefined && backoff === undefined;
  if (maxRetries === 3 && isPlain) return DEFAULT_POLICY;
  const policy = toPolicy(name, { maxRetries, backoff: backoff ?? {}, ...(timeout === undefined ? {} : { timeout }) });
  return heartbeatTimeout === undefined ? policy : { ...policy, heartbeat: toHeartbeat(name, heartbeatTimeout) };
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

function toHeartbeat(name: string, given: number | string): number {
  const heartbeat = parseDuration(given);
  if (heartbeat > 0) return heartbeat;
  throw new RangeError(`"${name}.heartbeatTimeout" is ${given}; it must be longer than 0.`);
}

/** Nothing, a module namespace or a class (of a static method): no state of its own to record. */
function isStateless(value: unknown): boolean {
  if (value === undefined || value === globalThis || typeof value === 'function') return true;
  return Object.prototype.toString.call(value) === '[object Module]';
}

const DEFAULT_POLICY = toPolicy('step', { maxRetries: 3, backoff: {} });
