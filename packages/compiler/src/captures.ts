import { findOwn, holds, isFunction, isInside, unwrap } from './ast.ts';
import type { Node } from './ast.ts';
import { isWorkflow } from './functions.ts';
import type { MarkedFunction } from './functions.ts';
import type { Binding, Names, Reference } from './scope.ts';

/** Why a step cannot have something of the function around it. */
export type Refusal = 'assigned' | 'function' | 'class' | 'this' | 'bound';

/** What a step that is inside of another function uses of it. */
export interface Captures {
  /** Variables whose values travel with each call. */
  names: string[];
  /** What the step is called where it is, if it uses that. */
  self?: string;
  refused: { name: string; why: Refusal; node: Node }[];
  /** It can be made outside of the function too. False: it has to stay where it is, and may use nothing of it. */
  isMovable: boolean;
}

/** A step inside of a function that is an expression, a declaration or a method of an object. */
export function isInner({ enclosing, node, directives }: MarkedFunction): boolean {
  return enclosing.length > 0 && node.type !== 'ClassPrivateMethod' && directives[0]?.directive === 'use step';
}

export function findCaptures(step: MarkedFunction, marked: MarkedFunction[], { references }: Names): Captures {
  const isMovable = mayMove(step, references);
  const captures: Captures = { names: [], refused: [], isMovable };
  const seen = new Set<string>();
  const steps = new Set<Node>(marked.filter((one) => !isWorkflow(one)).map(({ node }) => node));
  for (const { name, node, binding, isWrite } of references) {
    if (!binding || !isInside(node, step.node) || !isOutside(binding, step.node)) continue;
    if (isSelf(binding, step.node)) captures.self = name;
    else if (isContainer(binding, step.node)) continue;
    else {
      const why = refusalOf(binding, { isWrite, isMovable, steps });
      if (seen.has(`${name} ${why}`)) continue;
      seen.add(`${name} ${why}`);
      if (why) captures.refused.push({ name, why, node });
      else if (!captures.names.includes(name)) captures.names.push(name);
    }
  }
  const place = step.node.type === 'ArrowFunctionExpression' && findOwn(step.node.body, 'ThisExpression');
  if (place) captures.refused.push({ name: 'this', why: 'this', node: place });
  return captures;
}

// --- internal ---

interface Use {
  isWrite: boolean;
  isMovable: boolean;
  steps: ReadonlySet<Node>;
}

function refusalOf({ node }: Binding, { isWrite, isMovable, steps }: Use): Refusal | undefined {
  if (isWrite) return 'assigned';
  const value = node.type === 'VariableDeclarator' && node.init ? unwrap(node.init) : node;
  if (isFunction(value) && !steps.has(value)) return 'function';
  if (value.type === 'ClassDeclaration' || value.type === 'ClassExpression') return 'class';
  return isMovable ? undefined : 'bound';
}

/** Of a function around the step, or of a block that only it sees. */
function isOutside({ scope }: Binding, step: Node): boolean {
  return scope.node.type !== 'Program' && !isInside(scope.node, step);
}

function isSelf({ node }: Binding, step: Node): boolean {
  return node === step || (node.type === 'VariableDeclarator' && !!node.init && unwrap(node.init) === step);
}

/** The variable whose value holds the step: `const tools = { read: async () => ... }`. */
function isContainer({ node }: Binding, step: Node): boolean {
  return node.type === 'VariableDeclarator' && !!node.init && isInside(step, node.init);
}

/** Not a method of a class, nor what uses something only the place has. */
function mayMove({ node }: MarkedFunction, references: Reference[]): boolean {
  if (node.type === 'ClassMethod' || node.type === 'ClassPrivateMethod') return false;
  const isBound = references.some(
    (one) =>
      isInside(one.node, node) &&
      ((one.binding && isContainer(one.binding, node) && !isSelf(one.binding, node)) ||
        (one.name === 'arguments' && node.type === 'ArrowFunctionExpression')),
  );
  return !isBound && !holds(node, PLACE_BOUND);
}

const PLACE_BOUND = new Set(['PrivateName', 'Super', 'MetaProperty']);
