import { currentContext } from '../context.ts';

/**
 * What `import()` in a function of a workflow file becomes: a body waits for it as for other work of the platform, so that its
 * run is not parked meanwhile and sees what it awaits in one order, live and replayed. Anywhere else it is the import alone.
 */
export function loadModule<T, A extends unknown[]>(load: (...given: A) => Promise<T>, ...given: A): Promise<T> {
  const context = currentContext();
  return context?.kind === 'body' ? context.execution.waitFor(() => load(...given)) : load(...given);
}
