import type { types as t } from '@babel/core';
import { isFunction, keyName, literalText, unwrap } from './ast.ts';
import type { Node } from './ast.ts';
import { isClientPackage } from './replay-table.ts';
import type { Target } from './replay-table.ts';
import type { Binding, Names, Reference } from './scope.ts';

export interface Origins {
  /** What an expression stands for, through constants, patterns and imports. Undefined: unknown. */
  of(node: Node): Target | undefined;
  /** The module's own variable of this name, or what it stands for. */
  ofName(name: string): Target | undefined;
  /** The name of the module's own variable an identifier means; undefined for any other. */
  moduleName(node: Node): string | undefined;
}

/** Follows names of one file back to where they come from. */
export function createOrigins({ references, scope }: Names): Origins {
  const uses = new Map<Node, Reference>(references.map((one) => [one.node, one]));
  const written = new Set(references.filter(({ isWrite }) => isWrite).map(({ binding }) => binding));

  function of(node: Node, depth = 0): Target | undefined {
    const value = unwrap(node);
    if (depth > MAX_DEPTH) return undefined;
    switch (value.type) {
      case 'Identifier':
        return ofUse(value, depth);
      case 'MemberExpression':
      case 'OptionalMemberExpression':
        return ofMember(value, depth);
      case 'AwaitExpression':
        return of(value.argument, depth + 1);
      case 'CallExpression':
      case 'OptionalCallExpression':
      case 'NewExpression':
        return ofResult(value, depth);
      default:
        return undefined;
    }
  }

  function ofUse(node: t.Identifier, depth: number): Target | undefined {
    const use = uses.get(node);
    if (!use) return undefined;
    if (use.binding) return ofBinding(use.binding, depth);
    return GLOBAL_OBJECTS.has(node.name) ? { from: 'globalThis', path: '' } : { from: 'globalThis', path: node.name };
  }

  function ofBinding(binding: Binding, depth: number): Target | undefined {
    const { node, name } = binding;
    const own = binding.scope.parent ? undefined : { path: name };
    if (node.type.startsWith('Import')) return ofImport(node as ImportSpecifier, binding);
    if (node.type !== 'VariableDeclarator' || !node.init || written.has(binding)) return own;
    if (node.id.type !== 'Identifier') {
      const path = pathInPattern(node.id, name);
      const origin = path === undefined ? undefined : of(node.init, depth + 1);
      return origin && path !== undefined ? under(origin, path) : undefined;
    }
    const value = unwrap(node.init);
    if (isFunction(value) || own === undefined) return own ?? of(value, depth + 1);
    return of(value, depth + 1) ?? own;
  }

  function ofMember(node: t.MemberExpression | t.OptionalMemberExpression, depth: number): Target | undefined {
    const name = propertyName(node);
    const object = name === undefined ? undefined : of(node.object, depth + 1);
    return object && name !== undefined ? under(object, name) : undefined;
  }

  /** A call is followed only where its answer is known: a client, an instance, a promisified function, an import. */
  function ofResult(node: CallNode, depth: number): Target | undefined {
    const { callee } = node;
    const [first] = node.arguments;
    if (callee.type === 'Import') return first && ofModule(first);
    const origin = of(callee, depth + 1);
    if (!origin) return undefined;
    if (isPromisify(origin)) return first && of(first, depth + 1);
    if (isClientPackage(origin.from)) return origin;
    const isOurs = origin.from === undefined || origin.from.startsWith('.');
    return node.type === 'NewExpression' && isOurs ? origin : undefined;
  }

  return {
    of: (node) => of(node),
    ofName(name) {
      const binding = scope.bindings.get(name);
      return binding && ofBinding(binding, 0);
    },
    moduleName(node) {
      const binding = uses.get(unwrap(node))?.binding;
      return binding && !binding.scope.parent ? binding.name : undefined;
    },
  };
}

/** The same place with more names behind it. */
export function under({ from, path }: Target, name: string): Target {
  const joined = path === '' ? name : name === '' ? path : `${path}.${name}`;
  return from === undefined ? { path: joined } : { from, path: joined };
}

/** The static name of a member, or undefined for a computed one. */
export function propertyName(node: t.MemberExpression | t.OptionalMemberExpression): string | undefined {
  return keyName({ key: node.property, computed: node.computed });
}

// --- internal ---

type ImportSpecifier = t.ImportSpecifier | t.ImportDefaultSpecifier | t.ImportNamespaceSpecifier;
type CallNode = t.CallExpression | t.OptionalCallExpression | t.NewExpression;

/** `const a = b; const b = a;` ends here. */
const MAX_DEPTH = 20;
const GLOBAL_OBJECTS = new Set(['globalThis', 'global']);

function ofModule(specifier: Node): Target | undefined {
  const from = literalText(specifier);
  return from === undefined ? undefined : { from, path: '' };
}

function ofImport(node: ImportSpecifier, { source }: Binding): Target | undefined {
  if (source === undefined) return undefined;
  if (node.type === 'ImportNamespaceSpecifier') return { from: source, path: '' };
  if (node.type === 'ImportDefaultSpecifier') return { from: source, path: 'default' };
  if (node.importKind === 'type') return undefined;
  const { imported } = node;
  return { from: source, path: imported.type === 'Identifier' ? imported.name : imported.value };
}

function isPromisify({ from, path }: Target): boolean {
  return /^(?:node:)?util$/.test(from ?? '') && /^(?:default\.)?promisify$/.test(path);
}

/** Where a destructured name was in the value: `{ a: { b } }` has `b` at `a.b`. */
function pathInPattern(pattern: Node, name: string): string | undefined {
  const node = pattern.type === 'AssignmentPattern' ? pattern.left : pattern;
  if (node.type === 'Identifier') return node.name === name ? '' : undefined;
  if (node.type !== 'ObjectPattern') return undefined;
  for (const property of node.properties) {
    if (property.type === 'RestElement') continue;
    const inner = pathInPattern(property.value, name);
    const key = keyName(property);
    if (inner !== undefined && key !== undefined) return inner === '' ? key : `${key}.${inner}`;
  }
  return undefined;
}
