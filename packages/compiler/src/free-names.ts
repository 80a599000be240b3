import { positionOf } from './ast.ts';
import type { Position } from './ast.ts';
import type { FoundFunctions } from './functions.ts';
import { isKnownGlobal } from './known-globals.ts';
import type { Names, Scope } from './scope.ts';
import { findNear } from './words.ts';

/** A name no scope of the file declares, no import brings and no global has; at its first use. */
export interface FreeName extends Position {
  name: string;
  /** A name that is declared there and nearly the same. */
  near?: string;
}

/**
 * True where it is worth it to resolve the scopes. A name that is declared in another scope of the file does not count:
 * that is rare, and this is asked of every workflow.
 */
export function mayHoldFreeNames({ names }: FoundFunctions): boolean {
  return [...names.used].some((name) => !names.declared.has(name) && !isKnownGlobal(name));
}

/** What this file alone cannot explain. Another file may: `check/undefined-names.ts` looks there. */
export function findFreeNames({ references }: Names): FreeName[] {
  const free = new Map<string, FreeName>();
  for (const { name, node, binding, scope } of references) {
    if (binding || free.has(name) || isKnownGlobal(name)) continue;
    const near = findNear(name, namesAt(scope));
    free.set(name, { name, ...(near !== undefined && { near }), ...positionOf(node) });
  }
  return [...free.values()];
}

// --- internal ---

/** Every name that can be used in a scope, the nearest first. */
function namesAt(from: Scope): string[] {
  const names: string[] = [];
  for (let scope: Scope | undefined = from; scope; scope = scope.parent) names.push(...scope.bindings.keys());
  return names;
}
