import { existsSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join } from 'node:path';
import type { types as t } from '@babel/core';
import { positionOf } from '../ast.ts';
import { findText, isFolder, listFolder } from '../files.ts';
import { packageNameOf } from '../host-modules.ts';
import { loadParser } from '../parse.ts';
import type { Parse } from '../parse.ts';
import type { Scan } from '../scan.ts';
import { createTurn } from '../turn.ts';
import type { FoundIn } from './frame.ts';

/**
 * Imports that lead to no file and to no package, of what is loaded for an entry. Only where that is certain: what the
 * settings of the project may send elsewhere is left to whoever loads it. A file is parsed only when it has one. `turn` is called
 * between two files.
 */
export async function checkImports(scan: Scan, root: string, turn = createTurn()): Promise<FoundIn[]> {
  const { agents, workflows, configSchema, guardrails, connections, scorers } = scan;
  const declared = [...guardrails, ...connections, ...scorers];
  const entries = [...agents, ...workflows, ...(configSchema ? [configSchema] : []), ...declared];
  const loaded = new Set(entries.flatMap(({ file, modules }) => [file, ...modules]));
  const isPackageMissing = createPackageCheck(root);
  let parse: Parse | undefined;
  const found: FoundIn[] = [];
  for (const file of loaded) {
    await turn();
    const path = join(root, file);
    const text = findText(path) ?? '';
    const isMissing = (name: string) =>
      /^\.{1,2}\//.test(name) ? !scan.links[file]?.[name] && !mayLead(path, name) : isPackageMissing(path, name);
    const suspects = Array.from(text.matchAll(IMPORT), ([, name = '']) => name);
    if (!suspects.some(isMissing)) continue;
    parse ??= loadParser();
    const sources = listSources(text, file, parse).filter(({ value }) => isMissing(value));
    found.push(...sources.map((source) => toFound(file, source)));
  }
  return found;
}

// --- internal ---

const IMPORT = /\b(?:from|import)\s*['"]([^'"\n]+)['"]/g;
const PACKAGE = /^(?:@[\w.-]+\/)?[\w.-]+(?=\/|$)/;

/** A file, a folder, or one with an ending that the specifier leaves out. */
function mayLead(importer: string, specifier: string): boolean {
  const path = join(dirname(importer), specifier.replace(/[?#].*$/, ''));
  if (existsSync(path)) return true;
  return listFolder(dirname(path)).some(({ name }) => name.startsWith(`${basename(path)}.`));
}

function createPackageCheck(root: string): (importer: string, specifier: string) => boolean {
  const own = /"name":\s*"([^"]+)"/.exec(findText(join(root, 'package.json')) ?? '')?.[1];
  const isCertain =
    isFolder(join(root, 'node_modules')) && !/"paths"/.test(findText(join(root, 'tsconfig.json')) ?? '');
  return (importer, specifier) => {
    if (!isCertain || isBuiltin(specifier) || packageNameOf(specifier)) return false;
    const name = PACKAGE.exec(specifier)?.[0];
    return name !== undefined && name !== own && !isInstalled(dirname(importer), name);
  };
}

function isInstalled(folder: string, name: string): boolean {
  if (existsSync(join(folder, 'node_modules', name))) return true;
  const above = dirname(folder);
  return above !== folder && isInstalled(above, name);
}

function listSources(text: string, file: string, parse: Parse): t.StringLiteral[] {
  try {
    return parse(text, file).program.body.flatMap((node) => sourceOf(node) ?? []);
  } catch {
    // It is said of the file itself that it does not parse.
    return [];
  }
}

/** What is imported when the module loads: types alone are not. */
function sourceOf(node: t.Statement): t.StringLiteral | undefined {
  if (node.type === 'ImportDeclaration') return node.importKind === 'type' || isOfTypes(node) ? undefined : node.source;
  if (node.type !== 'ExportAllDeclaration' && node.type !== 'ExportNamedDeclaration') return undefined;
  return node.exportKind === 'type' ? undefined : (node.source ?? undefined);
}

function isOfTypes({ specifiers }: t.ImportDeclaration): boolean {
  const areTypes = specifiers.map((one) => one.type === 'ImportSpecifier' && one.importKind === 'type');
  return areTypes.length > 0 && areTypes.every(Boolean);
}

function toFound(file: string, source: t.StringLiteral): FoundIn {
  const { value } = source;
  const what = value.startsWith('.')
    ? 'Correct the path, or write the file'
    : 'Install the package, or correct its name';
  const message = `The module "${value}" cannot be found. ${what}.`;
  const { line, column } = positionOf(source);
  // Behind the quote, where a load that fails points too.
  return { code: 'module_not_found', message, file, line, column: column + 1 };
}
