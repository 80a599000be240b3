import { leftError } from '../callbacks.ts';
import { currentContext, runInContext } from '../context.ts';

type AnyFunction = (...args: never[]) => unknown;

/**
 * A function that a body or a step hands on: whoever calls it, it runs as part of the run that made it. A limiter or a
 * queue that several runs share calls the next function when an earlier one has ended, and that may be another run's.
 * Outside of runs the function itself.
 */
export function bindCallback<F extends AnyFunction>(fn: F): F {
  const context = currentContext();
  if (!context) return fn;
  const callbacks = context.kind === 'body' ? context.execution.callbacks : undefined;
  let isCalled = callbacks === undefined;
  if (callbacks) callbacks.uncalled += 1;
  const bound = function (this: unknown, ...args: never[]): unknown {
    if (callbacks && !isCalled) callbacks.uncalled -= 1;
    isCalled = true;
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
  return bound as unknown as F;
}

// --- internal ---

function refuse(): Promise<never> {
  return Promise.reject(leftError());
}
