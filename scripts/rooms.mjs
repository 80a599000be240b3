// Prints which folder of the runtime imports which: a row a folder, from the top floor down, a column for each, and how many
// imports there are. `node scripts/rooms.mjs [folder]`; types count too, tests do not.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const IMPORT = /^(?:import|export)\s+(?:type\s)?[^'";]*?from\s+'(\.[^']+)'|import\(\s*'(\.[^']+)'\s*\)/gm;

/** @type {(root: string) => { from: string, to: string }[]} */
export function listFolderImports(root) {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/\.test\.ts$|(?:^|\/)_/.test(file) && statSync(join(root, file)).isFile(),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    if (/from 'vitest'/.test(text)) return [];
    return [...text.matchAll(IMPORT)].map(([, from, dynamic]) => {
      const to = relative(root, resolve(root, dirname(file), from ?? dynamic ?? ''));
      return { from: folderOf(file), to: folderOf(to) };
    });
  });
}

/**
 * Groups of folders that reach each other.
 * @type {(imports: { from: string, to: string }[]) => string[][]}
 */
export function findKnots(imports) {
  const names = [...new Set(imports.flatMap(({ from, to }) => [from, to]))];
  const reach = new Map(names.map((name) => [name, reachFrom(name, imports)]));
  const tied = names.map((name) => names.filter((other) => reach.get(name)?.has(other) && reach.get(other)?.has(name)));
  const knots = tied.filter((group) => group.length > 1).map((group) => group.toSorted());
  return [...new Map(knots.map((group) => [group.join(' '), group])).values()];
}

// --- internal ---

/** @param {string} path */
function folderOf(path) {
  return path.includes('/') ? `${path.split('/')[0]}/` : path;
}

/** @type {(name: string, imports: { from: string, to: string }[]) => Set<string>} */
function reachFrom(name, imports) {
  /** @type {Set<string>} */
  const seen = new Set();
  const open = [name];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const { from, to } of imports) {
      if (from !== at || to === at || seen.has(to)) continue;
      seen.add(to);
      open.push(to);
    }
  return seen;
}

/** @param {string} root */
function print(root) {
  const all = listFolderImports(root).filter(({ from, to }) => from !== to);
  const folders = all.filter(({ from, to }) => from.endsWith('/') && to.endsWith('/'));
  const names = [...new Set(folders.flatMap(({ from, to }) => [from, to]))];
  // The fewer folders it reaches, the lower it stands.
  const heights = new Map(names.map((name) => [name, reachFrom(name, all).size]));
  const sorted = names.toSorted((a, b) => (heights.get(b) ?? 0) - (heights.get(a) ?? 0) || a.localeCompare(b));
  const width = Math.max(...names.map((name) => name.length));
  console.log(`${''.padEnd(width)} ${sorted.map((name) => name.slice(0, 4).padStart(4)).join('')}`);
  for (const row of sorted) {
    const counts = sorted.map((column) => folders.filter(({ from, to }) => from === row && to === column).length);
    const cells = counts.map((count, index) => (sorted[index] === row ? '.' : count || '')).map(String);
    console.log(`${row.padEnd(width)} ${cells.map((cell) => cell.padStart(4)).join('')}`);
  }
  const knots = findKnots(all);
  console.log(`\n${names.length} folders, ${folders.length} imports between them, ${knots.length} knots`);
  for (const knot of knots) console.log(`knot of ${knot.length}: ${knot.join(' ')}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  print(resolve(process.argv[2] ?? join(import.meta.dirname, '../packages/runtime/src')));
