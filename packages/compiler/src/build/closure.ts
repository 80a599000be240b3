import { createHash } from 'node:crypto';
import type { DevEnvironment, EnvironmentModuleNode, Plugin } from 'vite';
import { createVersionReader } from './package-versions.ts';

/**
 * Answers the hash of the transformed code of a module and of every workspace module it imports, directly or not, and of
 * the versions of the packages they name.
 */
export function createHasher(environment: DevEnvironment, root: string): (path: string) => Promise<string> {
  const base = `${root}/`;
  const hashes = new WeakMap<object, string>();
  const versionsOf = createVersionReader();
  const hashModule = (module: EnvironmentModuleNode): string => {
    const result = module.transformResult;
    if (!result) return '';
    const known = hashes.get(result);
    if (known) return known;
    const hash = createHash('sha256').update(result.code.replace(APPENDED, '')).digest('hex');
    hashes.set(result, hash);
    return hash;
  };
  return async (path) => {
    const modules = await listClosure(environment, { path, base });
    const parts = modules.map((module) => `${module.id?.slice(root.length)} ${hashModule(module)}`).sort();
    const packages = [...new Set(modules.flatMap(versionsOf))].sort();
    return createHash('sha256')
      .update([...parts, ...packages].join('\n'))
      .digest('hex');
  };
}

/** Keeps what modules of the workspace held when they were last transformed: their files may have changed since. */
export function createSources(root: string): Sources {
  const base = `${root}/`;
  const texts = new Map<string, string>();
  return {
    plugin: {
      name: 'svc-keep-sources',
      enforce: 'pre',
      transform: {
        order: 'pre',
        handler(code, id) {
          // A text that is asked for as it is has been made a module by now. What asks for another form is made of the file.
          if (id.startsWith(base) && (!id.includes('?') || id.endsWith('?raw'))) texts.set(id, code);
        },
      },
    },
    async list(environment, path) {
      const modules = await listClosure(environment, { path, base });
      return new Map(modules.flatMap(({ id }) => toPair(id, id === null ? undefined : texts.get(id))));
    },
  };
}

export interface Sources {
  plugin: Plugin;
  /** By path, the texts of a module and of every workspace module it imports, as it was loaded. */
  list(environment: DevEnvironment, path: string): Promise<Map<string, string>>;
}

// --- internal ---

function toPair(id: string | null, text: string | undefined): [string, string][] {
  return id === null || text === undefined ? [] : [[id, text]];
}

/** What Vite puts behind a module once it is asked for: its map, and its path on this machine. */
const APPENDED = /(?:\n\/\/# source\w+=[^\n]*)*\s*$/;

/** What is imported only on demand is transformed here, so that the hash is the same before and after the first demand. */
async function listClosure(
  environment: DevEnvironment,
  { path, base }: { path: string; base: string },
): Promise<EnvironmentModuleNode[]> {
  const { moduleGraph } = environment;
  if (!moduleGraph.getModuleById(path)?.transformResult) await environment.transformRequest(path);
  const entry = moduleGraph.getModuleById(path);
  const seen = new Set<EnvironmentModuleNode>();
  const pending = entry ? [entry] : [];
  for (let module = pending.pop(); module; module = pending.pop()) {
    if (seen.has(module)) continue;
    seen.add(module);
    const isOurs = module.id?.startsWith(base) === true;
    if (isOurs && !module.transformResult) await environment.transformRequest(module.url).catch(() => null);
    pending.push(...module.importedModules);
  }
  return [...seen].filter(({ id }) => id?.startsWith(base));
}
