import { join } from 'node:path';
import { findText, listFolder } from '../files.ts';
import type { FreeName } from '../free-names.ts';
import { explainMissing, listOffered, listTaken, parseFile } from '../missing-export.ts';
import { loadParser } from '../parse.ts';
import type { Scan } from '../scan.ts';
import type { FoundIn } from './frame.ts';

/**
 * Names of workflow files that nothing declares. Only where that is certain: whatever may define a global, in any file
 * of the workspace, keeps it silent. Nothing is read unless there is such a name.
 */
export function checkUndefinedNames({ workflows, files, links }: Scan, root: string): FoundIn[] {
  const suspects = workflows.flatMap(({ file }) => (files[file]?.freeNames ?? []).map((free) => ({ file, free })));
  if (suspects.length === 0) return [];
  const texts = listTexts(root, Object.keys(files));
  if (texts.some((text) => EFFECT_IMPORT.test(text))) return [];
  const declaring = texts.filter((text) => DECLARES.test(text));
  return suspects
    .filter(({ file, free }) => !isGuarded(free.name, join(root, file)) && !declaring.some(mentions(free.name)))
    .map(({ file, free }) => findMisspelled(root, { file, free, links }) ?? toFound(file, free));
}

// --- internal ---

const MODULE = /\.[mc]?[jt]sx?$/;
const SKIPPED = new Set(['node_modules', 'dist']);

/** A package that is imported for what it does may define globals; so may types that are referred to. */
const EFFECT_IMPORT = /^\s*(?:import\s*['"][^.'"]|\/\/\/\s*<reference\s+types)/m;
const DECLARES = /\b(?:declare|globalThis|global|namespace)\b/;

/** Of every module of the workspace, and of those outside of it that are imported. */
function listTexts(root: string, read: string[]): string[] {
  const files = new Set([...listModules(root, ''), ...read]);
  return Array.from(files, (file) => findText(join(root, file)) ?? '');
}

function listModules(root: string, folder: string): string[] {
  return listFolder(join(root, folder)).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : listModules(root, path);
    return MODULE.test(path) ? [path] : [];
  });
}

/** `typeof name`: its author knows that it may not be there. */
function isGuarded(name: string, path: string): boolean {
  return new RegExp(`\\btypeof[\\s(]+${escape(name)}(?![\\w$])`).test(findText(path) ?? '');
}

function mentions(name: string): (text: string) => boolean {
  const word = new RegExp(`(?<![\\w$])${escape(name)}(?![\\w$])`);
  return (text) => word.test(text);
}

function escape(name: string): string {
  return name.replaceAll('$', '\\$');
}

/** What it nearly is may be an import that leads to nothing: then it is the import that is misspelt. */
function findMisspelled(
  root: string,
  { file, free, links }: { file: string; free: FreeName } & Pick<Scan, 'links'>,
): FoundIn | undefined {
  const { name, near } = free;
  if (near === undefined) return undefined;
  const parse = loadParser();
  const own = parseFile(root, file, parse);
  const taken = own && listTaken(own).find((one) => one.name === near);
  const module = taken && links[file]?.[taken.specifier];
  const other = module === undefined ? undefined : parseFile(root, module, parse);
  if (!taken || module === undefined || !other) return undefined;
  const { names } = listOffered(other);
  if (names.includes(near) || !names.includes(name)) return undefined;
  const { line, column } = taken;
  return { code: 'export_missing', message: explainMissing(module, near, names), file, line, column };
}

function toFound(file: string, { name, near, line, column }: FreeName): FoundIn {
  const advice = near === undefined ? 'Import it, declare it, or correct the name.' : `Did you mean "${near}"?`;
  const message = `Nothing declares "${name}", so the workflow would fail where it is used. ${advice}`;
  return { code: 'name_undefined', message, file, line, column };
}
