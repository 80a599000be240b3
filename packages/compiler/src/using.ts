import type { types as t } from '@babel/core';
import { forEachChild } from './ast.ts';
import type { Node } from './ast.ts';

/** True when the code may hold a `using` declaration. Cheap, and never false for a real one. */
export function mayHoldUsing(code: string): boolean {
  return /\busing\s+[\p{ID_Start}$_]/u.test(code);
}

/**
 * Writes `using` as try and finally, which every Node understands: what follows it in its block is tried, and the value
 * disposed of at the end. Loops over `using` and the top of a module are left as they are.
 */
export function lowerUsing(types: typeof t, program: t.Program): void {
  const visit = (node: Node): void => {
    forEachChild(node, visit);
    if (node.type === 'BlockStatement' || node.type === 'StaticBlock') node.body = lowerBlock(types, node.body);
  };
  visit(program);
}

// --- internal ---

function lowerBlock(types: typeof t, body: t.Statement[]): t.Statement[] {
  const at = body.findIndex((statement) => statement.type === 'VariableDeclaration' && isUsing(statement));
  const declaration = body[at];
  if (declaration?.type !== 'VariableDeclaration') return body;
  const { kind } = declaration;
  const [first, ...others] = declaration.declarations;
  if (first?.id.type !== 'Identifier') return body;
  const left = others.length > 0 ? [types.variableDeclaration(kind, others)] : [];
  const rest = [...left, ...body.slice(at + 1)];
  // Functions are hoisted to the block they stand in, so they stay in it.
  const functions = rest.filter((statement) => statement.type === 'FunctionDeclaration');
  const tried = rest.filter((statement) => statement.type !== 'FunctionDeclaration');
  const constant = types.variableDeclaration('const', [first]);
  constant.loc = declaration.loc ?? null;
  const finalizer = types.blockStatement([types.expressionStatement(dispose(types, first.id.name, kind))]);
  const attempt = types.tryStatement(types.blockStatement(lowerBlock(types, tried)), null, finalizer);
  return [...body.slice(0, at), ...functions, constant, attempt];
}

function isUsing({ kind }: t.VariableDeclaration): boolean {
  return kind === 'using' || kind === 'await using';
}

/** `hook?.[Symbol.dispose]()`: null and undefined are allowed, and are nothing to dispose of. */
function dispose(types: typeof t, name: string, kind: t.VariableDeclaration['kind']): t.Expression {
  const symbol = (key: string) => types.memberExpression(types.identifier('Symbol'), types.identifier(key));
  const key = kind === 'using' ? symbol('dispose') : symbol('asyncDispose');
  const member = types.optionalMemberExpression(types.identifier(name), key, true, true);
  const call = types.optionalCallExpression(member, [], false);
  return kind === 'using' ? call : types.awaitExpression(call);
}
