/** The two modules of the runtime a workspace imports, under whatever name. */
export type HostModule = 'index' | 'internal';

/**
 * What the dev host puts on `globalThis[Symbol.for('svc.runtime')]`: its own two namespaces. The runtime adds `at`, which
 * answers what modules of that address are given in their place.
 */
export type RuntimeHost = Record<HostModule, Record<string, unknown>>;

/** Where a name of the runtime leads: to a virtual module in dev, out of the bundle in a build. */
export function resolveHostModule(
  source: string,
  runtimeGlobal: boolean,
): string | { id: string; external: true } | null {
  const name = HOST_MODULES[source];
  if (!name) return null;
  return runtimeGlobal ? PREFIX + name : { id: EXTERNAL[name], external: true };
}

/** The package a name of the runtime stands for; undefined: it is no such name. */
export function packageNameOf(source: string): string | undefined {
  const name = HOST_MODULES[source];
  return name && EXTERNAL[name];
}

export function hostModuleOf(id: string): HostModule | undefined {
  if (!id.startsWith(PREFIX)) return undefined;
  return id === `${PREFIX}internal` ? 'internal' : 'index';
}

/** A module that exports, name by name, what the host's own instance does: never a second runtime. */
export function emitHostModule(name: HostModule): string {
  const host = (globalThis as Record<symbol, unknown>)[RUNTIME] as RuntimeHost | undefined;
  if (!host) throw new Error(`There is no runtime in this process. Load the workspace through svc dev.`);
  const names = Object.keys(host[name]);
  const lines = names.map((text, i) => `const e${i} = host[${JSON.stringify(text)}];`);
  const exports = names.map((text, i) => `e${i} as ${IDENTIFIER.test(text) ? text : JSON.stringify(text)}`);
  return [
    `const runtime = globalThis[Symbol.for('svc.runtime')];`,
    // Beside the code of the box there may be an earlier version of it, whose steps have the same names.
    `const host = (runtime.at?.(import.meta.url) ?? runtime).${name};`,
    ...lines,
    `export { ${exports.join(', ')} };`,
    '',
  ].join('\n');
}

// --- internal ---

const PREFIX = '\0svc-runtime:';
const RUNTIME = Symbol.for('svc.runtime');
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

const HOST_MODULES: Record<string, HostModule> = {
  '@svc/runtime': 'index',
  '@svc/runtime/internal': 'internal',
  workflow: 'index',
  'workflow/api': 'index',
  'workflow/errors': 'index',
  '@workflow/errors': 'index',
  '@workflow/serde': 'index',
};

const EXTERNAL = { index: '@svc/runtime', internal: '@svc/runtime/internal' } as const;
