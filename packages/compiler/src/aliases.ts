import { dirname, join, posix, relative, resolve, sep } from 'node:path';
import { findFile, findText } from './files.ts';

/** What `paths` of `tsconfig.json` say an import means. */
export interface Aliases {
  /** Empty: there are none. The same text: the same aliases. */
  readonly key: string;
  /** The relative specifier an import of this file stands for; undefined: it is no alias, or leads out of the workspace. */
  toRelative(file: string, specifier: string): string | undefined;
}

/** Reads `paths` of the workspace's `tsconfig.json`, or of the files it extends by a relative path. */
export function readAliases(root: string): Aliases {
  const paths = readPaths(join(root, 'tsconfig.json'), 0);
  if (!paths) return NO_ALIASES;
  const patterns = Object.entries(paths.paths).map(([pattern, targets]) => toPattern(pattern, targets));
  // As TypeScript does: what is written out wins, then the longest beginning.
  patterns.sort((a, b) => Number(a.isOpen) - Number(b.isOpen) || b.head.length - a.head.length);
  return {
    key: JSON.stringify(paths),
    toRelative(file, specifier) {
      if (/^\.{0,2}\//.test(specifier)) return undefined;
      const pattern = patterns.find((one) => fits(one, specifier));
      if (!pattern) return undefined;
      const rest = specifier.slice(pattern.head.length, specifier.length - pattern.tail.length);
      const candidates = pattern.targets.map((target) => resolve(paths.base, target.replace('*', rest)));
      const path = candidates.find(isThere);
      return path === undefined ? undefined : toSpecifier(root, file, path);
    },
  };
}

// --- internal ---

const NO_ALIASES: Aliases = { key: '', toRelative: () => undefined };
const MAX_EXTENDS = 10;
const ENDINGS = ['', '.ts', '.tsx', '.mts', '.js', '.mjs', '/index.ts', '/index.tsx', '/index.js'];
const SOURCE = /\.([mc]?)js(x?)$/;

interface Pattern {
  head: string;
  tail: string;
  isOpen: boolean;
  targets: string[];
}

interface Paths {
  /** What the targets are relative to. */
  base: string;
  paths: Record<string, string[]>;
}

function readPaths(file: string, depth: number): Paths | undefined {
  const config = parseConfig(findText(file)) as
    | { extends?: string | string[]; compilerOptions?: { baseUrl?: string; paths?: Record<string, string[]> } }
    | undefined;
  if (!config || depth > MAX_EXTENDS) return undefined;
  const { baseUrl, paths } = config.compilerOptions ?? {};
  if (paths) return { base: resolve(dirname(file), baseUrl ?? '.'), paths };
  // The last one that has them wins.
  for (const parent of [config.extends ?? []].flat().reverse()) {
    const path = parent.startsWith('.') ? resolve(dirname(file), parent) : undefined;
    const found = path && readPaths(path.endsWith('.json') ? path : `${path}.json`, depth + 1);
    if (found) return found;
  }
  return undefined;
}

/** JSON with comments and commas at the end of lists. Undefined: it is none; who compiles the project says so. */
function parseConfig(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\//g, (part) => (part[0] === '"' ? part : ''));
  try {
    return JSON.parse(bare.replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === ',' ? '' : part)));
  } catch {
    return undefined;
  }
}

function toPattern(pattern: string, targets: string[]): Pattern {
  const [head = '', tail] = pattern.split('*');
  return { head, tail: tail ?? '', isOpen: tail !== undefined, targets };
}

function fits({ head, tail, isOpen }: Pattern, specifier: string): boolean {
  if (!isOpen) return specifier === head;
  return specifier.length >= head.length + tail.length && specifier.startsWith(head) && specifier.endsWith(tail);
}

function isThere(path: string): boolean {
  const source = path.replace(SOURCE, '.$1ts$2');
  return [source, ...ENDINGS.map((ending) => path + ending)].some((one) => findFile(one) !== undefined);
}

function toSpecifier(root: string, file: string, path: string): string | undefined {
  const from = posix.dirname(file);
  const to = relative(root, path).split(sep).join('/');
  if (to.includes('node_modules/')) return undefined;
  const specifier = posix.relative(from, to);
  return specifier.startsWith('.') ? specifier : `./${specifier}`;
}
