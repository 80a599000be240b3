import type { types as t } from '@babel/core';
import { forEachChild, holds, isFunction, keyName, unwrap } from './ast.ts';
import type { Node } from './ast.ts';
import type { Binding, Names } from './scope.ts';

/** Functions of the runtime, `engine/primitives/{callback,load-module}.ts`. */
type Binder = 'bindCallback' | 'bindNamed' | 'bindStep';

export interface BindOptions {
  types: typeof t;
  program: t.Program;
  bind(as: Binder | 'loadModule'): t.Expression;
  /** The functions that become steps: these are called by the engine alone. */
  steps: ReadonlySet<Node>;
  /** The names of the program. */
  names(): Names;
  /** Those that are workflows, which are known by what they are: `start(greet)`. */
  workflows: ReadonlySet<Node>;
}

/**
 * Binds each function that one function hands to another to the run that makes it: `limit(() => charge(order))`. A limiter
 * that runs share calls the next function on behalf of whoever ended last. A function that is handed on by its name is
 * bound too: one of this file, and a step, wherever it comes from, which is seen when the call is made. Functions that are
 * called at once, such as those of array methods, are left as they are; so is what is at the top of the module,
 * outside of any run. A run waits for what a function imports.
 */
export function bindCallbacks({ types, program, bind, names, steps, workflows }: BindOptions): void {
  let bindings: Map<Node, Binding> | undefined;
  const bindingOf = (name: t.Identifier): Binding | undefined => (bindings ??= readBindings(names())).get(name);
  const visit = (node: Node, isInside: boolean): void => {
    forEachChild(node, (child) => visit(child, isInside || isFunction(node)));
    if (!isInside || node.type !== 'CallExpression') return;
    if (node.callee.type === 'Import') return void holdImport(node);
    if (!mayKeep(node.callee)) return;
    node.arguments = node.arguments.map((given) => {
      const as = steps.has(given) ? undefined : howToBind(given, { steps, workflows }, bindingOf);
      if (!as) return given;
      const call = types.callExpression(bind(as), [given as t.Expression]);
      call.loc = given.loc ?? null;
      return call;
    });
  };
  const holdImport = (node: t.CallExpression): void => {
    // What is awaited or yielded for the import belongs to the function around it, and not to one of ours.
    const given = node.arguments.some(mayPause) ? node.arguments : [];
    const params = given.map((_, index) => types.identifier(`given${index}`));
    const load = types.callExpression(node.callee, given.length > 0 ? params : node.arguments);
    load.loc = node.loc ?? null;
    node.callee = bind('loadModule');
    node.arguments = [types.arrowFunctionExpression(params, load), ...given];
  };
  visit(program, false);
}

/** Whether what is called may keep a function it is given, and call it later. */
export function mayKeep(callee: Node): boolean {
  if (isFunction(callee) || callee.type === 'Super') return false;
  if (callee.type !== 'MemberExpression' && callee.type !== 'OptionalMemberExpression') return true;
  const name = keyName({ key: callee.property, computed: callee.computed });
  return name === undefined || !IMMEDIATE.has(name);
}

// --- internal ---

/** Methods of arrays, promises and texts that call what they are given before they return, or with the caller's own value. */
const IMMEDIATE = new Set(
  (
    'map filter forEach reduce reduceRight find findIndex findLast findLastIndex some every sort toSorted flatMap from group ' +
    'groupBy replace replaceAll then catch finally addEventListener removeEventListener on once off apply call bind'
  ).split(' '),
);

function mayPause(node: Node): boolean {
  return holds(node, PAUSING, (inner) => !isFunction(inner));
}

const PAUSING = new Set(['AwaitExpression', 'YieldExpression']);

/** Undefined: it is handed on as it is. */
function howToBind(
  given: Node,
  { steps, workflows }: Pick<BindOptions, 'steps' | 'workflows'>,
  bindingOf: (name: t.Identifier) => Binding | undefined,
): Binder | undefined {
  if (given.type === 'Identifier') {
    const binding = bindingOf(given);
    const named = binding && functionOf(binding);
    if (named && workflows.has(named)) return undefined;
    if (named && !steps.has(named)) return isHandedOn(named) ? 'bindNamed' : undefined;
    return named || binding?.source !== undefined ? 'bindStep' : undefined;
  }
  if (given.type === 'MemberExpression') {
    const root = rootOf(given);
    const binding = root && bindingOf(root);
    return binding && (binding.source !== undefined || isClass(binding.node)) ? 'bindStep' : undefined;
  }
  return isHandedOn(given) ? 'bindCallback' : undefined;
}

/** A function that does something: makes a call, or awaits. */
function isHandedOn(node: Node): boolean {
  if (!isFunction(node) || node.type === 'ObjectMethod' || node.type === 'ClassMethod') return false;
  return !node.generator && holds(node.body, DOING);
}

function readBindings({ references }: Names): Map<Node, Binding> {
  const found = new Map<Node, Binding>();
  for (const { node, binding } of references) if (binding) found.set(node, binding);
  return found;
}

/** The function that a name stands for in this file, for as long as the module is loaded. */
function functionOf({ node }: Binding): Node | undefined {
  if (node.type === 'FunctionDeclaration') return node;
  const value = node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.init && unwrap(node.init);
  return value && isFunction(value) ? value : undefined;
}

function isClass(node: Node): boolean {
  return node.type === 'ClassDeclaration' || node.type === 'ClassExpression';
}

/** The `a` of `a.b.c`. */
function rootOf(node: t.MemberExpression): t.Identifier | undefined {
  let root: Node = node;
  while (root.type === 'MemberExpression') root = root.object;
  return root.type === 'Identifier' ? root : undefined;
}

const DOING = new Set([
  'CallExpression',
  'OptionalCallExpression',
  'NewExpression',
  'AwaitExpression',
  'TaggedTemplateExpression',
]);
