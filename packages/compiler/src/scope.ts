import type { types as t } from '@babel/core';
import { forEachChild, isFunction, patternNames, unwrap } from './ast.ts';
import type { Node } from './ast.ts';

export interface Scope {
  /** The program, function or block that holds the names. */
  node: Node;
  parent: Scope | undefined;
  /** True in a function, or in a block of one. */
  inFunction: boolean;
  bindings: Map<string, Binding>;
}

export interface Binding {
  name: string;
  scope: Scope;
  /** The declaration: a declarator, a function, a class, an import. */
  node: Node;
  /** Of an import: the specifier it comes from. */
  source?: string;
}

export interface Reference {
  name: string;
  node: t.Identifier;
  /** Undefined: a global. */
  binding: Binding | undefined;
  isWrite: boolean;
  /** Where it is. */
  scope: Scope;
}

export interface Names {
  /** Every use of a name that can run, with the declaration it means. Types are not uses. */
  references: Reference[];
  /** What the module itself declares. */
  scope: Scope;
}

export function resolveNames(program: t.Program): Names {
  const references: Reference[] = [];
  const scope = openScope(program, undefined);
  collectVars(program, scope);
  declareStatements(program.body, scope);
  visitChildren(program, { scope, references });
  return { references, scope };
}

// --- internal ---

interface Visit {
  scope: Scope;
  references: Reference[];
}

function openScope(node: Node, parent: Scope | undefined): Scope {
  return { node, parent, inFunction: isFunction(node) || (parent?.inFunction ?? false), bindings: new Map() };
}

function declare(scope: Scope, name: string, node: Node, source?: string): void {
  if (scope.bindings.has(name)) return;
  scope.bindings.set(name, { name, scope, node, ...(source !== undefined && { source }) });
}

function visit(node: Node, at: Visit): void {
  if (node.type === 'Identifier') return use(node, at, false);
  if (isFunction(node)) return visitFunction(node, at);
  const skipped = SKIPPED[node.type];
  if (skipped) return visitChildren(node, at, skipped(node));
  switch (node.type) {
    case 'BlockStatement':
    case 'StaticBlock':
    case 'TSModuleBlock':
      return visitBlock(node, node.body, at);
    case 'SwitchStatement':
      return visitBlock(
        node,
        node.cases.flatMap((one) => one.consequent),
        at,
      );
    case 'ForStatement':
      return visitBlock(node, node.init?.type === 'VariableDeclaration' ? [node.init] : [], at);
    case 'ForInStatement':
    case 'ForOfStatement':
      return visitLoop(node, at);
    case 'CatchClause':
      return visitCatch(node, at);
    case 'ClassExpression':
      return visitChildren(node, node.id ? { ...at, scope: scopeOfName(node, node.id, at) } : at, ['id']);
    case 'TSEnumDeclaration':
      return visitEnum(node, at);
    case 'VariableDeclarator':
      visitPattern(node.id, at, undefined);
      return node.init ? visit(node.init, at) : undefined;
    case 'AssignmentExpression':
      visitPattern(node.left, at, true);
      return visit(node.right, at);
    case 'UpdateExpression':
      return visitPattern(node.argument, at, true);
    default:
      return visitChildren(node, at);
  }
}

function visitChildren(node: Node, at: Visit, skip: readonly string[] = []): void {
  forEachChild(node, (child, key) => {
    if (!skip.includes(key)) visit(child, at);
  });
}

function visitBlock(node: Node, statements: readonly Node[], at: Visit): void {
  const scope = openScope(node, at.scope);
  declareStatements(statements, scope);
  visitChildren(node, { ...at, scope });
}

/** A name only the class itself sees. */
function scopeOfName(node: Node, { name }: t.Identifier, at: Visit): Scope {
  const scope = openScope(node, at.scope);
  declare(scope, name, node);
  return scope;
}

/** A member may be made of those before it. */
function visitEnum(node: t.TSEnumDeclaration, at: Visit): void {
  const scope = openScope(node, at.scope);
  for (const { id } of node.members) if (id.type === 'Identifier') declare(scope, id.name, node);
  visitChildren(node, { ...at, scope }, ['id']);
}

function visitLoop(node: t.ForInStatement | t.ForOfStatement, at: Visit): void {
  const inner = { ...at, scope: openScope(node, at.scope) };
  if (node.left.type === 'VariableDeclaration') declareStatements([node.left], inner.scope);
  else visitPattern(node.left, inner, true);
  visitChildren(node, inner, node.left.type === 'VariableDeclaration' ? [] : ['left']);
}

function visitCatch(node: t.CatchClause, at: Visit): void {
  const inner = { ...at, scope: openScope(node, at.scope) };
  for (const id of patternNames(node.param)) declare(inner.scope, id.name, node);
  visit(node.body, inner);
}

function visitFunction(node: Node, at: Visit): void {
  if (!isFunction(node)) return;
  if ('computed' in node && node.computed) visit(node.key, at);
  const scope = openScope(node, at.scope);
  if (node.type === 'FunctionExpression' && node.id) declare(scope, node.id.name, node);
  for (const param of node.params) for (const id of patternNames(param)) declare(scope, id.name, param);
  const inner = { ...at, scope };
  for (const param of node.params) visitPattern(param, inner, undefined);
  if (node.body.type !== 'BlockStatement') return visit(node.body, inner);
  collectVars(node.body, scope);
  declareStatements(node.body.body, scope);
  visitChildren(node.body, inner);
}

/** Walks a pattern: its defaults and computed keys are uses, its names are writes or declarations. */
function visitPattern(node: Node, at: Visit, isWrite: true | undefined): void {
  const pattern = unwrap(node);
  switch (pattern.type) {
    case 'Identifier':
      return isWrite && use(pattern, at, true);
    case 'ObjectPattern':
      for (const property of pattern.properties) {
        if (property.type === 'RestElement') visitPattern(property.argument, at, isWrite);
        else {
          if (property.computed) visit(property.key, at);
          visitPattern(property.value, at, isWrite);
        }
      }
      return;
    case 'ArrayPattern':
      for (const element of pattern.elements) if (element) visitPattern(element, at, isWrite);
      return;
    case 'AssignmentPattern':
      visitPattern(pattern.left, at, isWrite);
      return visit(pattern.right, at);
    case 'RestElement':
      return visitPattern(pattern.argument, at, isWrite);
    case 'TSParameterProperty':
      return visitPattern(pattern.parameter, at, isWrite);
    default:
      return visit(pattern, at);
  }
}

function use(node: t.Identifier, at: Visit, isWrite: boolean): void {
  at.references.push({ name: node.name, node, binding: findBinding(at.scope, node.name), isWrite, scope: at.scope });
}

function findBinding(from: Scope, name: string): Binding | undefined {
  for (let scope: Scope | undefined = from; scope; scope = scope.parent) {
    const binding = scope.bindings.get(name);
    if (binding) return binding;
  }
  return undefined;
}

/** Names a list of statements declares for its own block. */
function declareStatements(statements: readonly Node[], scope: Scope): void {
  for (const statement of statements) {
    const isExport = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration';
    const node = isExport ? statement.declaration : statement;
    if (!node) continue;
    if (node.type === 'VariableDeclaration') declareVariables(node, scope);
    else if (node.type === 'ImportDeclaration') {
      for (const one of node.specifiers) declare(scope, one.local.name, one, node.source.value);
    } else if (node.type in DECLARATIONS && 'id' in node && node.id?.type === 'Identifier') {
      declare(scope, node.id.name, node);
    }
  }
}

function declareVariables(node: t.VariableDeclaration, scope: Scope): void {
  for (const declarator of node.declarations) {
    for (const id of patternNames(declarator.id)) declare(scope, id.name, declarator);
  }
}

/** `var` belongs to the whole function, however deep it stands. */
function collectVars(node: Node, scope: Scope): void {
  forEachChild(node, (child) => {
    if (isFunction(child)) return;
    if (child.type === 'VariableDeclaration' && child.kind === 'var') declareVariables(child, scope);
    collectVars(child, scope);
  });
}

const DECLARATIONS = {
  FunctionDeclaration: true,
  ClassDeclaration: true,
  TSDeclareFunction: true,
  TSImportEqualsDeclaration: true,
  TSEnumDeclaration: true,
  TSModuleDeclaration: true,
} as const;

/** Children that are names of something else, not uses of a binding. */
const SKIPPED: Partial<Record<Node['type'], (node: Node) => readonly string[]>> = {
  MemberExpression: (node) => ((node as t.MemberExpression).computed ? [] : ['property']),
  OptionalMemberExpression: (node) => ((node as t.OptionalMemberExpression).computed ? [] : ['property']),
  ObjectProperty: (node) => ((node as t.ObjectProperty).computed ? [] : ['key']),
  ClassProperty: (node) => ((node as t.ClassProperty).computed ? [] : ['key']),
  ClassPrivateProperty: () => ['key'],
  ClassAccessorProperty: (node) => ((node as t.ClassAccessorProperty).computed ? [] : ['key']),
  PrivateName: () => ['id'],
  ImportAttribute: () => ['key'],
  ClassDeclaration: () => ['id'],
  LabeledStatement: () => ['label'],
  BreakStatement: () => ['label'],
  ContinueStatement: () => ['label'],
  MetaProperty: () => ['meta', 'property'],
  ImportDeclaration: () => ['specifiers'],
  ExportSpecifier: () => ['local', 'exported'],
  ExportNamedDeclaration: () => ['specifiers'],
  ExportAllDeclaration: () => ['source'],
  TSEnumMember: () => ['id'],
  TSModuleDeclaration: () => ['id'],
};
