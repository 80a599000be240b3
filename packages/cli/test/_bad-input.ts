import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ArgDef } from 'citty';
import * as groups from '../src/group.ts';
import type { Leaf } from '../src/group.ts';
import { TREE } from '../src/tree.ts';

/** What no one means. A flag may take some of them as a text like any other. */
export const BAD_VALUES: Record<string, string> = {
  empty: '',
  blank: '  ',
  unknown: 'no-such-thing',
  negative: '-7',
  huge: '99999999999999999999',
  'not a number': 'NaN',
  traversal: '../../../../etc/passwd',
  long: 'a'.repeat(100_000),
  control: 'a\u0001b\u001B[31mc\u0007',
  lines: 'first\nsecond',
};

/** Paths that are there and are something else, or where no one may write. */
export const BAD_PATHS: Record<string, string> = {
  'a folder': 'lib',
  'a file': 'svc.json',
  'below a file': 'svc.json/nested',
  'below nothing': '/proc/no-such-process',
};

/** A command line that works, part by part. */
export interface Base {
  positionals?: Record<string, string>;
  flags?: Record<string, string | true>;
}

export interface BadCase {
  /** `runs list --limit, negative`. */
  title: string;
  path: string;
  /** The flag without dashes, or the argument. */
  name: string;
  /** What a message may call it. */
  names: string[];
  kind: string;
  value: string;
  argv: string[];
}

/** Every verb of the tree with its words. */
export function listLeaves(): { path: string; leaf: Leaf }[] {
  return groups.listLeaves(TREE);
}

/** Each argument and flag of a verb with each bad value in turn, in a command line that is right but for it. */
export async function listBadCases(path: string, leaf: Leaf, base: Base): Promise<BadCase[]> {
  const { args } = await leaf.load({ path, root: TREE });
  return Object.entries(args).flatMap(([name, def]) =>
    Object.entries(valuesOf(path, name, def)).map(([kind, value]): BadCase => {
      const isPositional = def.type === 'positional';
      const typed = isPositional ? name : `--${name}`;
      return {
        title: `${path} ${typed}, ${kind}`,
        path,
        name,
        names: [isPositional ? `<${name}>` : `--${name}`, `"${name}"`, `"${toMember(name)}"`],
        kind,
        value,
        argv: toArgv(path, base, { name, value, positionals: namesOf(args) }),
      };
    }),
  );
}

/** As much of a value as a message shows, or of a path its last part. */
export function shortOf(value: string): string {
  const last = value.split(/[/\n]/).at(-1) ?? '';
  return JSON.stringify(last.slice(0, 20)).slice(1, -1);
}

/** Every file below a folder with a hash of what it holds. */
export function readTree(folder: string, at = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(folder, at))) {
    const path = join(at, name);
    const stats = lstatSync(join(folder, path));
    if (stats.isDirectory()) Object.assign(found, { [`${path}/`]: 'folder' }, readTree(folder, path));
    else found[path] = stats.isSymbolicLink() ? readlinkSync(join(folder, path)) : hashOf(join(folder, path));
  }
  return found;
}

// --- internal ---

/** As the box calls what a flag stands for. */
function toMember(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function valuesOf(path: string, name: string, def: ArgDef): Record<string, string> {
  if (def.type === 'boolean') return { 'a value': 'maybe' };
  // One piece of code reads these for all verbs.
  if ((name === 'agent' || name === 'url') && path !== 'runs list')
    return pick(BAD_VALUES, ['empty', 'unknown', 'long']);
  return isPath(path, name) ? { ...BAD_VALUES, ...BAD_PATHS } : BAD_VALUES;
}

const PATHS = ['dir', 'out', 'out-dir', 'file', 'base-archive', 'promote'];

function isPath(path: string, name: string): boolean {
  return PATHS.includes(name) || name.endsWith('-file') || `${path} ${name}` === 'replay run';
}

function pick(values: Record<string, string>, kinds: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([kind]) => kinds.includes(kind)));
}

function namesOf(args: Record<string, ArgDef>): string[] {
  return Object.entries(args).flatMap(([name, { type }]) => (type === 'positional' ? [name] : []));
}

function toArgv(
  path: string,
  { positionals = {}, flags = {} }: Base,
  bad: { name: string; value: string; positionals: string[] },
): string[] {
  const last = Math.max(
    ...Object.keys(positionals).map((name) => bad.positionals.indexOf(name)),
    bad.positionals.indexOf(bad.name),
  );
  const words = bad.positionals
    .slice(0, last + 1)
    .map((name) => (name === bad.name ? bad.value : (positionals[name] ?? '.')));
  const { [bad.name]: _, ...others } = flags;
  const given = Object.entries(others).map(([flag, value]) => (value === true ? `--${flag}` : `--${flag}=${value}`));
  const own = bad.positionals.includes(bad.name) ? [] : [`--${bad.name}=${bad.value}`];
  return [...path.split(' '), ...words, ...given, ...own];
}

function hashOf(file: string): string {
  return createHash('sha1').update(readFileSync(file)).digest('hex');
}
