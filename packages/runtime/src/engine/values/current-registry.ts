import { currentContext } from '../context.ts';
import { createRegistry } from './registry.ts';
import type { CodeRegistry } from './registry.ts';

/** What `work`, which awaits nothing, makes known or looks for by name is of this version. Undefined: of the code there is now. */
export function withRegistry<T>(registry: CodeRegistry | undefined, work: () => T): T {
  if (!registry) return work();
  const before = active;
  active = registry;
  try {
    return work();
  } finally {
    active = before;
  }
}

/** That of the code that asks: of the run it belongs to, else of the workspace as it is now. */
export function currentRegistry(): CodeRegistry {
  return active ?? currentContext()?.execution.registry ?? shared();
}

/** What is known under the id to the code that asks. */
export function findKnown<Kind extends 'steps' | 'closures' | 'classes'>(
  kind: Kind,
  id: string,
): ReturnType<CodeRegistry[Kind]['get']> {
  const registry = currentRegistry();
  const known = registry[kind].get(id) ?? (registry.isOpen ? shared()[kind].get(id) : undefined);
  return known as ReturnType<CodeRegistry[Kind]['get']>;
}

/** What is known now, whatever later code makes known under the same ids. */
export function snapshotRegistry(): CodeRegistry {
  const { steps, closures, classes } = shared();
  return { steps: new Map(steps), closures: new Map(closures), classes: new Map(classes), isOpen: true };
}

// --- internal ---

/** While modules of an earlier version are loaded, or what they have recorded is read. */
let active: CodeRegistry | undefined;

const SHARED = Symbol.for('svc.engine.registry');

// One registry per process, also when two copies of this module are loaded.
function shared(): CodeRegistry {
  return ((globalThis as Record<symbol, unknown>)[SHARED] ??= createRegistry()) as CodeRegistry;
}
