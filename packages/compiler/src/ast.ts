import type { types as t } from '@babel/core';

export type Node = t.Node;
export type FunctionNode =
  | t.FunctionDeclaration
  | t.FunctionExpression
  | t.ArrowFunctionExpression
  | t.ObjectMethod
  | t.ClassMethod
  | t.ClassPrivateMethod;

/** Where a node hangs: `parent[key]`, or `parent[key][index]` in a list. */
export interface Slot {
  parent: Node;
  key: string;
  index: number | undefined;
  node: Node;
}

/** 1-based line and column. */
export interface Position {
  line: number;
  column: number;
}

export function isFunction(node: Node): node is FunctionNode {
  return FUNCTIONS.has(node.type);
}

/** Calls `visit` for every child that can run, in source order of the keys. Types are left out. */
export function forEachChild(node: Node, visit: (child: Node, key: string, index: number | undefined) => void): void {
  const fields = node as unknown as Record<string, unknown>;
  for (const key in fields) {
    const value = fields[key];
    // Most fields are not objects, so that is asked first: this loop is a tenth of a cold scan.
    if (typeof value !== 'object' || value === null || NOT_CHILDREN.has(key)) continue;
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) if (isRunnable(value[i])) visit(value[i], key, i);
    } else if (isRunnable(value)) visit(value, key, undefined);
  }
}

/** The first node of a type that belongs to this function's own `this`: arrows inside count, other functions do not. */
export function findOwn(node: Node, type: 'ThisExpression' | 'Super'): Node | undefined {
  if (node.type === type) return node;
  if (isFunction(node) && node.type !== 'ArrowFunctionExpression') return undefined;
  let found: Node | undefined;
  forEachChild(node, (child) => {
    found ??= findOwn(child, type);
  });
  return found;
}

/** Whether the node is of one of these types, or holds one. `isWithin`: false for a node that is not looked into. */
export function holds(node: Node, types: ReadonlySet<string>, isWithin: (node: Node) => boolean = () => true): boolean {
  if (!isWithin(node)) return false;
  if (types.has(node.type)) return true;
  let found = false;
  forEachChild(node, (child) => {
    found ||= holds(child, types, isWithin);
  });
  return found;
}

/** The expression inside `as`, `satisfies`, `!` and `<T>` wrappers. */
export function unwrap(node: Node): Node {
  let inner = node;
  while (TYPE_WRAPPERS.has(inner.type)) inner = (inner as t.TSAsExpression).expression;
  return inner;
}

export function positionOf(node: Node): Position {
  const start = node.loc?.start;
  return { line: start?.line ?? 1, column: (start?.column ?? 0) + 1 };
}

export function isInside(inner: Node, outer: Node): boolean {
  return (inner.start ?? 0) >= (outer.start ?? 0) && (inner.end ?? 0) <= (outer.end ?? 0);
}

/** The static name of a property key, or undefined for a computed one. */
export function keyName(node: { key: Node; computed?: boolean | null }): string | undefined {
  const { key } = node;
  if (key.type === 'StringLiteral') return key.value;
  if (node.computed) return undefined;
  if (key.type === 'Identifier') return key.name;
  if (key.type === 'NumericLiteral') return String(key.value);
  return key.type === 'PrivateName' ? `#${key.id.name}` : undefined;
}

/** `a.b.c` of names alone; undefined: anything else is in it. */
export function memberPath(node: Node): string | undefined {
  const target = unwrap(node);
  if (target.type === 'Identifier') return target.name;
  if (target.type !== 'MemberExpression' || target.computed || target.property.type !== 'Identifier') return undefined;
  const object = memberPath(target.object);
  return object && `${object}.${target.property.name}`;
}

/** The text of a string literal or of a template without holes. */
export function literalText(node: Node | null | undefined): string | undefined {
  if (node?.type === 'StringLiteral') return node.value;
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? undefined;
  return undefined;
}

/** Every identifier a pattern binds or assigns. */
export function patternNames(node: Node | null | undefined): t.Identifier[] {
  if (!node) return [];
  switch (node.type) {
    case 'Identifier':
      return [node];
    case 'ObjectPattern':
      return node.properties.flatMap((p) => patternNames(p.type === 'RestElement' ? p.argument : p.value));
    case 'ArrayPattern':
      return node.elements.flatMap((element) => patternNames(element));
    case 'AssignmentPattern':
      return patternNames(node.left);
    case 'RestElement':
      return patternNames(node.argument);
    case 'TSParameterProperty':
      return patternNames(node.parameter);
    default:
      return TYPE_WRAPPERS.has(node.type) ? patternNames(unwrap(node)) : [];
  }
}

// --- internal ---

const FUNCTIONS = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ObjectMethod',
  'ClassMethod',
  'ClassPrivateMethod',
]);

const TYPE_WRAPPERS = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
]);

const TS_THAT_RUNS = new Set([
  ...TYPE_WRAPPERS,
  'TSEnumDeclaration',
  'TSEnumBody',
  'TSEnumMember',
  'TSModuleDeclaration',
  'TSModuleBlock',
  'TSExportAssignment',
  'TSParameterProperty',
]);

const NOT_CHILDREN = new Set([
  'loc',
  'range',
  'extra',
  'leadingComments',
  'trailingComments',
  'innerComments',
  'comments',
  'tokens',
  'errors',
]);

function isRunnable(value: unknown): value is Node {
  if (typeof value !== 'object' || value === null) return false;
  const { type } = value as { type?: unknown };
  return typeof type === 'string' && (!type.startsWith('TS') || TS_THAT_RUNS.has(type));
}
