import { findOwn, isInside, positionOf } from '../ast.ts';
import type { Node } from '../ast.ts';
import type { Finding } from '../finding.ts';
import type { MarkedFunction } from '../functions.ts';
import type { Binding, Names, Reference } from '../scope.ts';

/** A step written inside a function may use what the module holds, and nothing of that function. */
export function checkCaptures(marked: MarkedFunction[], names: () => Names): Finding[] {
  const steps = marked.filter(
    ({ enclosing, directives }) => enclosing.length > 0 && directives[0]?.directive === 'use step',
  );
  if (steps.length === 0) return [];
  const { references } = names();
  return steps.flatMap((step) => [...findNames(step, references), ...findThis(step)]);
}

// --- internal ---

function findNames(step: MarkedFunction, references: Reference[]): Finding[] {
  const seen = new Set<string>();
  return references.flatMap(({ name, node, binding }) => {
    if (!isInside(node, step.node) || !binding || !isCapture(binding, step.node) || seen.has(name)) return [];
    seen.add(name);
    return [toFinding(step, name, node)];
  });
}

function isCapture({ scope, node }: Binding, step: Node): boolean {
  if (!scope.inFunction || isInside(scope.node, step)) return false;
  const isItself = node === step || (node.type === 'VariableDeclarator' && !!node.init && isInside(step, node.init));
  return !isItself;
}

/** An arrow has no `this` of its own: it is the enclosing function's. */
function findThis(step: MarkedFunction): Finding[] {
  if (step.node.type !== 'ArrowFunctionExpression') return [];
  const place = findOwn(step.node.body, 'ThisExpression');
  return place ? [toFinding(step, 'this', place)] : [];
}

function toFinding(step: MarkedFunction, name: string, place: Node): Finding {
  const what = step.path ? `The step "${step.path}"` : 'This step';
  const message = `${what} uses "${name}" of the function around it. A step may run in another process after a restart, where that does not exist: pass it as an argument.`;
  return { code: 'step_captures_scope', message, ...positionOf(place) };
}
