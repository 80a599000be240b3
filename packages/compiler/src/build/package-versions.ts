import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import type { EnvironmentModuleNode } from 'vite';
import { findText } from '../files.ts';

/** Answers the packages that a module names, each with its version, as `zod 4.1.12`. A package is read once. */
export function createVersionReader(): (module: EnvironmentModuleNode) => string[] {
  const versions = new Map<string, string | undefined>();
  const find = (folder: string, name: string): string | undefined => {
    const key = `${folder} ${name}`;
    if (versions.has(key)) return versions.get(key);
    const own = readVersion(join(folder, 'node_modules', name, 'package.json'));
    const parent = dirname(folder);
    const version = own ?? (parent === folder ? undefined : find(parent, name));
    versions.set(key, version);
    return version;
  };
  return ({ id, transformResult }) => {
    if (!id || !transformResult) return [];
    const named = [...(transformResult.deps ?? []), ...(transformResult.dynamicDeps ?? [])];
    return [...new Set(named.flatMap(packageOf))].flatMap((name) => {
      const version = find(dirname(id), name);
      return version === undefined ? [] : [`${name} ${version}`];
    });
  };
}

// --- internal ---

const PACKAGE = /^(?:@[^/]+\/)?[^./#@\0][^/]*/;

function packageOf(specifier: string): string[] {
  if (isBuiltin(specifier)) return [];
  return PACKAGE.exec(specifier)?.slice(0, 1) ?? [];
}

function readVersion(file: string): string | undefined {
  try {
    const { version } = JSON.parse(findText(file) ?? '') as { version?: unknown };
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}
