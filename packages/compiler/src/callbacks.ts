import type { types as t } from '@babel/core';
import { forEachChild, isFunction, keyName } from './ast.ts';
import type { Node } from './ast.ts';

export interface BindOptions {
  types: typeof t;
  program: t.Program;
  /** `bindCallback` of the runtime. */
  bind(): t.Expression;
  /** The functions that become steps: these are called by the engine alone. */
  steps: ReadonlySet<Node>;
}

/**
 * Binds each function that one function hands to another to the run that makes it: `limit(() => charge(order))`. A limiter
 * that runs share calls the next function on behalf of whoever ended last. Functions that are called at once, such as
 * those of array methods, are left as they are; so is what stands at the top of the module, outside of any run.
 */
export function bindCallbacks({ types, program, bind, steps }: BindOptions): void {
  const visit = (node: Node, isInside: boolean): void => {
    forEachChild(node, (child) => visit(child, isInside || isFunction(node)));
    if (!isInside || node.type !== 'CallExpression' || !mayKeep(node.callee)) return;
    node.arguments = node.arguments.map((given) => {
      if (!isHandedOn(given) || steps.has(given)) return given;
      const call = types.callExpression(bind(), [given]);
      call.loc = given.loc ?? null;
      return call;
    });
  };
  visit(program, false);
}

// --- internal ---

/** Methods of arrays, promises and texts that call what they are given before they return, or with the caller's own value. */
const IMMEDIATE = new Set(
  (
    'map filter forEach reduce reduceRight find findIndex findLast findLastIndex some every sort toSorted flatMap from group ' +
    'groupBy replace replaceAll then catch finally addEventListener removeEventListener on once off apply call bind'
  ).split(' '),
);

function mayKeep(callee: Node): boolean {
  if (isFunction(callee) || callee.type === 'Import' || callee.type === 'Super') return false;
  if (callee.type !== 'MemberExpression' && callee.type !== 'OptionalMemberExpression') return true;
  const name = keyName({ key: callee.property, computed: callee.computed });
  return name === undefined || !IMMEDIATE.has(name);
}

/** A function that does something: makes a call, or awaits. */
function isHandedOn(node: Node): node is t.ArrowFunctionExpression | t.FunctionExpression {
  if (node.type !== 'ArrowFunctionExpression' && node.type !== 'FunctionExpression') return false;
  return !node.generator && doesSomething(node.body);
}

function doesSomething(node: Node): boolean {
  if (DOING.has(node.type)) return true;
  let found = false;
  forEachChild(node, (child) => {
    found ||= doesSomething(child);
  });
  return found;
}

const DOING = new Set([
  'CallExpression',
  'OptionalCallExpression',
  'NewExpression',
  'AwaitExpression',
  'TaggedTemplateExpression',
]);
