import type { types as t } from '@babel/core';
import { keyName, literalText, patternNames, unwrap } from './ast.ts';
import type { Node } from './ast.ts';
import type { MarkedFunction } from './functions.ts';
import type { Exported } from './replay-facts.ts';

export function readExports(program: t.Program): Exported[] {
  return program.body.flatMap((node) => {
    if (node.type === 'ExportDefaultDeclaration') return [readDefault(node)];
    if (node.type !== 'ExportNamedDeclaration' || node.exportKind === 'type') return [];
    return node.declaration ? readDeclaration(node.declaration) : readSpecifiers(node);
  });
}

/** The name a module-level function, or a static method of a module-level class, is exported under, or null. */
export function exportNameOf({ slots, node }: MarkedFunction, exported: Exported[]): string | null {
  const nodes = slots.map((slot) => slot.node);
  if (node.type !== 'ClassMethod') return findExportName(nodes, exported);
  const key = isStaticMethod(node) ? keyName(node) : undefined;
  const owner = key === undefined ? null : findExportName(nodes.slice(0, -2), exported);
  return owner === null ? null : `${owner}.${key}`;
}

/** The text of a name as it is in an export, an import or a key. */
export function nameOf(node: Node): string {
  return node.type === 'Identifier' ? node.name : (literalText(node) ?? '');
}

// --- internal ---

function findExportName(nodes: Node[], exported: Exported[]): string | null {
  const direct = exported.find((one) => unwrap(one.node) === nodes.at(-1));
  if (direct) return direct.name;
  const local = localName(nodes);
  return exported.find((one) => local !== undefined && one.local === local)?.name ?? null;
}

function isStaticMethod({ static: isStatic, kind, key, accessibility }: t.ClassMethod): boolean {
  return (
    isStatic &&
    kind === 'method' &&
    key.type === 'Identifier' &&
    accessibility !== 'private' &&
    accessibility !== 'protected'
  );
}

/** The module-level name of a function: a declaration, or the whole value of a variable. */
function localName([statement, ...inner]: Node[]): string | undefined {
  const isExport = statement?.type === 'ExportNamedDeclaration' || statement?.type === 'ExportDefaultDeclaration';
  const [node, declarator, ...value] = isExport ? inner : [statement, ...inner];
  const isNamed = node?.type === 'FunctionDeclaration' || node?.type === 'ClassDeclaration';
  if (isNamed && !declarator) return node.id?.name;
  if (node?.type !== 'VariableDeclaration' || declarator?.type !== 'VariableDeclarator') return undefined;
  const isWhole = declarator.init && unwrap(declarator.init) === value.at(-1);
  return isWhole && declarator.id.type === 'Identifier' ? declarator.id.name : undefined;
}

function readDefault(node: t.ExportDefaultDeclaration): Exported {
  const value = unwrap(node.declaration);
  const local = value.type === 'Identifier' ? value.name : 'id' in value && value.id ? nameOf(value.id) : null;
  return { name: 'default', local, node: node.declaration };
}

function readDeclaration(node: t.Declaration): Exported[] {
  if (node.type === 'VariableDeclaration') {
    return node.declarations.flatMap((one) =>
      patternNames(one.id).map(({ name }) => ({ name, local: name, node: one })),
    );
  }
  const isValue = node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration';
  return isValue && node.id ? [{ name: node.id.name, local: node.id.name, node }] : [];
}

function readSpecifiers(node: t.ExportNamedDeclaration): Exported[] {
  return node.specifiers.flatMap((one) => {
    if (one.type === 'ExportSpecifier' && one.exportKind === 'type') return [];
    const local = one.type === 'ExportSpecifier' && !node.source ? one.local.name : null;
    return [{ name: nameOf(one.exported), local, node: one }];
  });
}
