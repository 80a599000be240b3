import { join } from 'node:path';
import type { types as t } from '@babel/core';
import { patternNames, positionOf } from './ast.ts';
import type { Position } from './ast.ts';
import { nameOf } from './exports.ts';
import { findText } from './files.ts';
import { loadParser } from './parse.ts';
import type { Parse } from './parse.ts';
import { findNear } from './words.ts';

/** What a module offers, types included. */
export interface Offered {
  names: string[];
  /** Relative specifiers of `export * from`. */
  stars: string[];
  /** It offers names that are not written in it, as a CommonJS module does. */
  isOpen: boolean;
}

/** One name that is imported, or exported again, from a relative specifier, where it is. */
export interface Taken extends Position {
  name: string;
  specifier: string;
}

export function listOffered(program: t.Program): Offered {
  const stars: string[] = [];
  const names: string[] = [];
  let isOpen = !program.body.some((node) => /^(?:Import|Export|TSExport)/.test(node.type));
  for (const node of program.body) {
    if (node.type === 'ExportDefaultDeclaration') names.push('default');
    else if (node.type === 'ExportNamedDeclaration') names.push(...namesOf(node));
    else if (node.type === 'TSExportAssignment' || node.type === 'TSNamespaceExportDeclaration') isOpen = true;
    else if (node.type === 'ExportAllDeclaration') {
      if (node.source.value.startsWith('.')) stars.push(node.source.value);
      else isOpen = true;
    }
  }
  return { names, stars, isOpen };
}

/** What is imported as a value; a specifier with a query is a module of its own. */
export function listTaken(program: t.Program): Taken[] {
  return program.body.flatMap((node) => {
    const specifier = 'source' in node && node.source ? node.source.value : '';
    if (!/^\.{1,2}\/[^?]*$/.test(specifier)) return [];
    return takenBy(node).map((at) => ({ name: nameOf(at), specifier, ...positionOf(at) }));
  });
}

/** The sentences of `export_missing`. `names`: what the module does export. */
export function explainMissing(module: string, name: string, names: readonly string[]): string {
  const near = findNear(name, names);
  const advice = near === undefined ? 'Correct the name, or export it there.' : `Did you mean "${near}"?`;
  return `"${module}" exports no "${name}". ${advice}`;
}

export interface MissingExport {
  /** Of a file relative to the root. */
  file: string;
  /** What the import is from, relative to the root. */
  module: string;
  name: string;
}

/** Where a file takes a name that another does not export, and what to say of it. Undefined place: it is not found there. */
export function placeMissing(root: string, { file, module, name }: MissingExport): { message: string; at?: Position } {
  const parse = loadParser();
  const own = parseFile(root, file, parse);
  const other = parseFile(root, module, parse);
  const stem = (path: string) => path.replace(/^.*\//, '').replace(/\.\w+$/, '');
  const taken = (own ? listTaken(own) : []).filter((one) => one.name === name);
  const found = taken.find(({ specifier }) => stem(specifier) === stem(module)) ?? taken[0];
  const message = explainMissing(module, name, other ? listOffered(other).names : []);
  return { message, ...(found && { at: { line: found.line, column: found.column } }) };
}

export function parseFile(root: string, file: string, parse: Parse): t.Program | undefined {
  try {
    return parse(findText(join(root, file)) ?? '', file).program;
  } catch {
    // It is said of the file itself that it does not parse.
    return undefined;
  }
}

// --- internal ---

function namesOf({ declaration, specifiers }: t.ExportNamedDeclaration): string[] {
  if (!declaration) return specifiers.map(({ exported }) => nameOf(exported));
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => patternNames(id).map(({ name }) => name));
  return 'id' in declaration && declaration.id ? [nameOf(declaration.id)] : [];
}

function takenBy(node: t.Statement): (t.Identifier | t.StringLiteral)[] {
  if (node.type === 'ImportDeclaration')
    return node.importKind === 'type'
      ? []
      : node.specifiers.flatMap((one) =>
          one.type === 'ImportSpecifier' && one.importKind !== 'type' ? [one.imported] : [],
        );
  if (node.type !== 'ExportNamedDeclaration' || node.exportKind === 'type') return [];
  return node.specifiers.flatMap((one) =>
    one.type === 'ExportSpecifier' && one.exportKind !== 'type' ? [one.local] : [],
  );
}
