import { findOwn, positionOf } from '../ast.ts';
import type { FunctionNode } from '../ast.ts';
import type { Finding } from '../finding.ts';
import { isGetterStep } from '../functions.ts';
import type { DirectiveString, FoundFunctions, MarkedFunction } from '../functions.ts';

/** Directives that do not say what their author meant, and steps with no name of their own. */
export function checkDirectives(found: FoundFunctions): Finding[] {
  return [...found.strings.flatMap(checkString), ...found.marked.flatMap(checkFunction), ...checkNames(found.marked)];
}

// --- internal ---

function checkString({ text, directive, exact, place, node }: DirectiveString): Finding[] {
  if (place === 'template') {
    const message = `\`${text}\` in backquotes is not a directive. Write '${directive}' in quotes.`;
    return [{ code: 'directive_misspelled', message, ...positionOf(node) }];
  }
  if (!exact) {
    const message = `"${text}" is not a directive. Write '${directive}'.`;
    return [{ code: 'directive_misspelled', message, ...positionOf(node) }];
  }
  if (place === 'body') return [];
  const message =
    place === 'module'
      ? `'${directive}' is at the top of the module. Put it in the function it is meant for, as the first statement of the body.`
      : `'${directive}' has no effect here. Make it the first statement of the function's body.`;
  return [{ code: 'directive_misplaced', message, ...positionOf(node) }];
}

function checkFunction(marked: MarkedFunction): Finding[] {
  const { node, directives, path } = marked;
  const [first, second] = directives;
  if (!first) return [];
  const place = positionOf(first.node);
  const what = path ? `"${path}"` : 'This function';
  if (second && second.directive !== first.directive) {
    const message = `${what} is marked 'use workflow' and 'use step'. Keep one: a workflow calls steps, a step does the work.`;
    return [{ code: 'directive_conflict', message, ...positionOf(second.node) }];
  }
  if (node.generator) {
    const message = `${what} is a generator and cannot be marked '${first.directive}'. Make it an async function that returns its result.`;
    return [{ code: 'directive_on_generator', message, ...place }];
  }
  const accessor = accessorOf(node);
  if (accessor !== undefined && !isGetterStep(marked)) {
    const instead =
      first.directive === 'use step' && accessor === 'getter' ? 'Make it one of a class' : 'Make it a method';
    const message = `${what} is a ${accessor} and cannot be marked '${first.directive}'. ${instead}.`;
    return [{ code: 'directive_not_async', message, ...place }];
  }
  if (!node.async && accessor === undefined) {
    const message = `${what} is marked '${first.directive}' and is not async. Write "async" before it.`;
    return [{ code: 'directive_not_async', message, ...place }];
  }
  if (first.directive === 'use workflow') return [];
  if (path === undefined) {
    const message = 'This step has no name, so its result cannot be found again. Give the function a name.';
    return [{ code: 'step_unnamed', message, ...place }];
  }
  if (node.type === 'ClassPrivateMethod') {
    const message = `${what} is a private method and cannot be a step. Drop the "#", or call a step from it.`;
    return [{ code: 'step_private_method', message, ...place }];
  }
  const usesSuper = node.type === 'ObjectMethod' && findOwn(node.body, 'Super');
  if (usesSuper) {
    const message = `${what} uses "super", which a step of an object cannot. Call the other method by its object's name.`;
    return [{ code: 'step_uses_super', message, ...positionOf(usesSuper) }];
  }
  return [];
}

function accessorOf(node: FunctionNode): 'getter' | 'setter' | undefined {
  if (!('kind' in node)) return undefined;
  return node.kind === 'get' ? 'getter' : node.kind === 'set' ? 'setter' : undefined;
}

function checkNames(marked: MarkedFunction[]): Finding[] {
  const seen = new Map<string, number>();
  return marked.flatMap(({ path, node, directives }) => {
    const [first] = directives;
    if (path === undefined || !first) return [];
    const line = seen.get(path);
    seen.set(path, line ?? positionOf(node).line);
    if (line === undefined) return [];
    const message = `There are two steps "${path}" in this file; the other is on line ${line}. Rename one.`;
    return [{ code: 'step_name_clash', message, ...positionOf(first.node) }];
  });
}
