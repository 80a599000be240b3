import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const packages = resolve(import.meta.dirname, '../..');

export interface Import {
  /** Relative to `packages/`. */
  from: string;
  /** A path relative to `packages/`, or the name of a package. */
  to: string;
  isType: boolean;
}

const IMPORT = /^(?:import|export)\s+(type\s)?[^'";]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/gm;

/** What a folder of `packages/` imports, types too, without its tests: files of tests, of their set-up, and suites. */
export function listImports(folder: string): Import[] {
  return readdirSync(join(packages, folder), { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && file.name.endsWith('.ts') && !/\.test\.ts$|^_/.test(file.name))
    .flatMap((file) => readImports(join(file.parentPath, file.name)));
}

/** Rings of files, each of which imports the next, types included. */
export function findRings(imports: readonly Import[]): string[][] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to]);
  const rings: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const start = path.indexOf(file);
    if (start >= 0) rings.push([...path.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    path.push(file);
    for (const to of targets.get(file) ?? []) visit(to);
    path.pop();
    done.add(file);
  };
  for (const file of targets.keys()) visit(file);
  return rings;
}

// --- internal ---

function readImports(path: string): Import[] {
  const from = relative(packages, path);
  const found = [...readFileSync(path, 'utf8').matchAll(IMPORT)].map((match) => {
    const specifier = match[2] ?? match[3] ?? '';
    const to = specifier.startsWith('.') ? relative(packages, resolve(dirname(path), specifier)) : specifier;
    return { from, to, isType: match[1] !== undefined };
  });
  return found.some(({ to }) => to === 'vitest') ? [] : found;
}
