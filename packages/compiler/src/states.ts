import type { types as t } from '@babel/core';
import { keyName, unwrap } from './ast.ts';
import type { Node } from './ast.ts';

/** What a module-level variable was written out as. */
export type StateKind = 'object' | 'array' | 'map' | 'set';

/** The module-level variables that hold an object, an array, a Map or a Set written out in place, and what those hold. */
export function findStates(program: t.Program): Record<string, StateKind> {
  const states: Record<string, StateKind> = {};
  for (const statement of program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (node?.type !== 'VariableDeclaration') continue;
    for (const { id, init } of node.declarations) if (id.type === 'Identifier' && init) addState(states, id.name, init);
  }
  return states;
}

/**
 * True when this changes what the module holds: a property under `path` is assigned, or `method` is called on it.
 * Without `states`, those of another module: true when it may.
 */
export function isStateChange(states: Record<string, StateKind> | undefined, path: string, method?: string): boolean {
  if (method !== undefined && !mayChangeState(method)) return false;
  if (!states) return path !== '';
  if (method === undefined) return Object.hasOwn(states, path.replace(/\..*$/, ''));
  const kind = Object.hasOwn(states, path) ? states[path] : undefined;
  return kind !== undefined && METHODS[kind].includes(method);
}

/** True for a method that changes an array, a Map or a Set. */
export function mayChangeState(method: string): boolean {
  return CHANGING_METHODS.has(method);
}

// --- internal ---

const METHODS: Record<StateKind, string[]> = {
  object: [],
  array: ['push', 'pop', 'shift', 'unshift', 'splice', 'sort', 'reverse', 'fill', 'copyWithin'],
  map: ['set', 'delete', 'clear'],
  set: ['add', 'delete', 'clear'],
};

const CHANGING_METHODS = new Set(Object.values(METHODS).flat());

function addState(states: Record<string, StateKind>, path: string, node: Node): void {
  const value = unwrap(node);
  const kind = kindOf(value);
  if (!kind) return;
  states[path] = kind;
  if (value.type !== 'ObjectExpression') return;
  for (const property of value.properties) {
    const key = property.type === 'ObjectProperty' ? keyName(property) : undefined;
    if (property.type === 'ObjectProperty' && key !== undefined) addState(states, `${path}.${key}`, property.value);
  }
}

function kindOf(node: Node): StateKind | undefined {
  if (node.type === 'ObjectExpression') return 'object';
  if (node.type === 'ArrayExpression') return 'array';
  if (node.type !== 'NewExpression' || node.callee.type !== 'Identifier') return undefined;
  if (node.callee.name === 'Map' || node.callee.name === 'WeakMap') return 'map';
  return node.callee.name === 'Set' || node.callee.name === 'WeakSet' ? 'set' : undefined;
}
