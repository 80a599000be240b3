const NAME = Symbol.for('svc.workflow');

/** Remembers the workflow's name on its function, so that a function can be used where a name can. */
export function markWorkflow(fn: (...args: never[]) => unknown, name: string): void {
  Object.defineProperty(fn, NAME, { value: name });
}

/** The name of a workflow function; undefined: it is not one. */
export function workflowNameOf(fn: unknown): string | undefined {
  return typeof fn === 'function'
    ? ((fn as unknown as Record<symbol, unknown>)[NAME] as string | undefined)
    : undefined;
}
