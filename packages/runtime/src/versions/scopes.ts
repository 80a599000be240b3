import { withRegistry } from '../engine/values/current-registry.ts';
import { createRegistry } from '../engine/values/registry.ts';
import type { CodeRegistry } from '../engine/values/registry.ts';

/**
 * Modules below this address are given the runtime of this process, but that what they make known by name (steps, classes) is
 * kept apart: the code there is now has the same names. Throws where no workspace has been loaded in this process.
 */
export function enterScope(address: string): CodeRegistry {
  const runtime = (globalThis as Record<symbol, unknown>)[Symbol.for('svc.runtime')] as SharedRuntime | undefined;
  if (!runtime) throw new Error('There is no runtime in this process that modules of a workspace could use.');
  const registry = createRegistry();
  scopes.set(address, { index: runtime.index, internal: scopeInternal(runtime.internal, registry) });
  runtime.at = findScope;
  return registry;
}

// --- internal ---

type Namespace = Record<string, unknown>;

interface Scope {
  index: Namespace;
  internal: Namespace;
}

/** As the host of the process has made it. */
interface SharedRuntime extends Scope {
  at?: (address: string) => Scope | undefined;
}

/** What modules call as they are evaluated. */
const REGISTERING = ['registerClass', 'registerClosure', 'registerStep', 'createStep', 'createGetterStep'];

const scopes = new Map<string, Scope>();

function findScope(address: string): Scope | undefined {
  for (const [prefix, scope] of scopes) if (address.startsWith(prefix)) return scope;
  return undefined;
}

function scopeInternal(internal: Namespace, registry: CodeRegistry): Namespace {
  const scoped = REGISTERING.map((name) => {
    const call = internal[name] as (...args: unknown[]) => unknown;
    return [name, (...args: unknown[]) => withRegistry(registry, () => call(...args))] as const;
  });
  return { ...internal, ...Object.fromEntries(scoped) };
}
