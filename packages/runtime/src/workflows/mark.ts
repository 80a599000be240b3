const NAME = Symbol.for('svc.workflow');
const FILE = Symbol.for('svc.workflow.misplaced');

/** Remembers the workflow's name on its function, so that a function can be used where a name can. */
export function markWorkflow(fn: (...args: never[]) => unknown, name: string): void {
  Object.defineProperty(fn, NAME, { value: name });
}

/** Remembers the file of a workflow that no one finds, because it is not `workflows/<name>.workflow.ts`. */
export function markMisplaced(fn: (...args: never[]) => unknown, file: string): void {
  Object.defineProperty(fn, FILE, { value: file });
}

/** The name of a workflow function; undefined: it is not one. */
export function workflowNameOf(fn: unknown): string | undefined {
  return readMark(fn, NAME);
}

/** The file of a workflow function that lies where none is found; undefined: it is not one. */
export function misplacedFileOf(fn: unknown): string | undefined {
  return readMark(fn, FILE);
}

// --- internal ---

function readMark(fn: unknown, mark: symbol): string | undefined {
  return typeof fn === 'function'
    ? ((fn as unknown as Record<symbol, unknown>)[mark] as string | undefined)
    : undefined;
}
