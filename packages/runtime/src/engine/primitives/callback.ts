import { leftError } from '../callbacks.ts';
import { currentContext, runInContext } from '../context.ts';
import type { EngineContext } from '../context.ts';
import { isStepFunction, takeStep } from '../values/steps.ts';

type AnyFunction = (...args: never[]) => unknown;

/**
 * A function that a body or a step hands on: whoever calls it, it runs as part of the run that made it. A limiter or a
 * queue that several runs share calls the next function when an earlier one has ended, and that may be another run's.
 * Outside of runs the function itself.
 */
export function bindCallback<F extends AnyFunction>(fn: F): F {
  const context = currentContext();
  if (!context) return fn;
  const bound = bindTo(context, fn);
  bound.handOn();
  return bound.fn as F;
}

/**
 * The same of a function that has a name. However often a run hands it on it is one function, so that what takes it back,
 * as `unsubscribe(task)` does, finds it. What is no function is answered as it is.
 */
export function bindNamed<T>(value: T): T {
  const context = currentContext();
  if (!context || typeof value !== 'function') return value;
  const known = named.get(context) ?? new WeakMap<object, Bound>();
  named.set(context, known);
  const bound = known.get(value) ?? bindTo(context, value as unknown as AnyFunction);
  known.set(value, bound);
  bound.handOn();
  return bound.fn as T;
}

/** The same of a step; anything else is answered as it is. */
export function bindStep<T>(value: T): T {
  return isStepFunction(value) ? bindNamed(value) : value;
}

// --- internal ---

interface Bound {
  fn: unknown;
  /** It is handed on once more: a caller may call it later. */
  handOn(): void;
}

const named = new WeakMap<EngineContext, WeakMap<object, Bound>>();

function bindTo(context: EngineContext, fn: AnyFunction): Bound {
  const callbacks = context.kind === 'body' ? context.execution.callbacks : undefined;
  let uncalled = 0;
  const take = (): void => {
    if (!callbacks || uncalled === 0) return;
    uncalled -= 1;
    callbacks.uncalled -= 1;
  };
  const bound = function (this: unknown, ...args: never[]): unknown {
    take();
    const call = (): unknown => Reflect.apply(fn, this, args);
    const isOwn = currentContext() === context;
    // The run has left: what it waits for never comes, so it may hold no place among those of others.
    if (!isOwn && context.kind === 'body' && context.execution.hasLeft) return runInContext(context, refuse);
    const result = isOwn ? call() : runInContext(context, call);
    if (callbacks && typeof result === 'object' && result instanceof Promise) callbacks.hasStarted = true;
    return result;
  };
  // Some look at how many arguments a function takes.
  if (fn.length > 0) Object.defineProperty(bound, 'length', { value: fn.length });
  // A step stays one that can be recorded, and is called elsewhere then.
  takeStep(bound, fn, take);
  return {
    fn: bound,
    handOn() {
      if (!callbacks) return;
      uncalled += 1;
      callbacks.uncalled += 1;
    },
  };
}

function refuse(): Promise<never> {
  return Promise.reject(leftError());
}
