import type { types as t } from '@babel/core';
import { forEachChild, literalText } from './ast.ts';
import type { Node } from './ast.ts';

/** A class that says how its instances are recorded, and the name it is found again by: unique in its file. */
export interface RecordableClass {
  node: t.ClassDeclaration | t.ClassExpression;
  name: string;
}

/** True when the code may hold such a class. Cheap, and never false for a real one. */
export function mayHoldClass(code: string): boolean {
  return /WORKFLOW_SERIALIZE|workflow-serialize/.test(code);
}

/** The classes with a static `[WORKFLOW_SERIALIZE]`, in the order they stand. */
export function findClasses(program: t.Program): RecordableClass[] {
  const names = localNames(program);
  const found: RecordableClass[] = [];
  const visit = (node: Node, given: string | undefined): void => {
    if ((node.type === 'ClassDeclaration' || node.type === 'ClassExpression') && isRecordable(node, names))
      found.push({ node, name: freeName(node.id?.name ?? given ?? 'class', found) });
    const next = node.type === 'VariableDeclarator' && node.id.type === 'Identifier' ? node.id.name : undefined;
    forEachChild(node, (child) => visit(child, next));
  };
  visit(program, undefined);
  return found;
}

// --- internal ---

/** What the file calls the symbol: its own name, or the one an import gives it. */
function localNames(program: t.Program): Set<string> {
  const names = new Set(['WORKFLOW_SERIALIZE']);
  for (const statement of program.body) {
    if (statement.type !== 'ImportDeclaration') continue;
    for (const one of statement.specifiers)
      if (one.type === 'ImportSpecifier' && importedName(one) === 'WORKFLOW_SERIALIZE') names.add(one.local.name);
  }
  return names;
}

function importedName({ imported }: t.ImportSpecifier): string {
  return imported.type === 'Identifier' ? imported.name : imported.value;
}

function isRecordable({ body }: RecordableClass['node'], names: Set<string>): boolean {
  return body.body.some(
    (member) =>
      (member.type === 'ClassMethod' || member.type === 'ClassProperty') &&
      member.static === true &&
      member.computed === true &&
      isSymbol(member.key, names),
  );
}

/** `WORKFLOW_SERIALIZE`, `serde.WORKFLOW_SERIALIZE` or `Symbol.for('workflow-serialize')`. */
function isSymbol(key: Node, names: Set<string>): boolean {
  if (key.type === 'Identifier') return names.has(key.name);
  if (key.type === 'MemberExpression')
    return key.property.type === 'Identifier' && key.property.name === 'WORKFLOW_SERIALIZE';
  return key.type === 'CallExpression' && literalText(key.arguments[0]) === 'workflow-serialize';
}

function freeName(wanted: string, found: RecordableClass[]): string {
  const isTaken = (name: string) => found.some((one) => one.name === name);
  let name = wanted;
  for (let i = 2; isTaken(name); i++) name = `${wanted}${i}`;
  return name;
}
