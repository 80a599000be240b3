import { createHash } from 'node:crypto';
import type { EnvironmentModuleNode, RunnableDevEnvironment } from 'vite';

/** Hashes the transformed code of a module and of every workspace module it imports, directly or not. */
export function createHasher(environment: RunnableDevEnvironment, root: string): (path: string) => string {
  const hashes = new WeakMap<object, string>();
  const hashModule = (module: EnvironmentModuleNode): string => {
    const result = module.transformResult;
    if (!result) return '';
    const known = hashes.get(result);
    if (known) return known;
    const hash = createHash('sha256')
      .update(result.code.replace(/\n\/\/# sourceMappingURL=.*$/s, ''))
      .digest('hex');
    hashes.set(result, hash);
    return hash;
  };
  return (path) => {
    const modules = closureOf(environment.moduleGraph.getModuleById(path)).filter(({ id }) => id?.startsWith(root));
    const parts = modules.map((module) => `${module.id?.slice(root.length)} ${hashModule(module)}`).sort();
    return createHash('sha256').update(parts.join('\n')).digest('hex');
  };
}

// --- internal ---

function closureOf(entry: EnvironmentModuleNode | undefined): EnvironmentModuleNode[] {
  const seen = new Set<EnvironmentModuleNode>();
  const pending = entry ? [entry] : [];
  for (let module = pending.pop(); module; module = pending.pop()) {
    if (seen.has(module)) continue;
    seen.add(module);
    pending.push(...module.importedModules);
  }
  return [...seen];
}
