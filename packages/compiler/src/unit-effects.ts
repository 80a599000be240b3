import type { types as t } from '@babel/core';
import { mayKeep } from './callbacks.ts';
import { forEachChild, isFunction, patternNames, positionOf, unwrap } from './ast.ts';
import type { Node } from './ast.ts';
import { propertyName } from './origins.ts';
import type { Origins } from './origins.ts';
import { findAdvice, isWait } from './replay-table.ts';
import type { Target } from './replay-table.ts';
import { isStateChange, mayChangeState } from './states.ts';
import type { StateKind } from './states.ts';
import type { Unit } from './unit-nodes.ts';
import type { UnitFacts } from './replay-facts.ts';

/** What is known of the file a unit stands in. */
export interface UnitContext {
  origins: Origins;
  states: Record<string, StateKind>;
  steps: Set<Node>;
  names: Set<string>;
  /** Globals this file puts its own function in the place of. */
  replaced: Set<string>;
}

/** What one function of the module calls and changes, as far as a replay minds. */
export function readUnit({ name, nodes, owner, parentClass, isBody }: Unit, context: UnitContext): UnitFacts {
  const unit: UnitFacts = { name, ...(isBody && { isWorkflow: true as const }), calls: [], writes: [] };
  const walk: Walk = { ...context, unit, owner };
  if (parentClass) addCall(walk, parentClass, parentClass);
  for (const node of nodes) {
    if (isFunction(node)) readChildren(node, walk);
    else read(node, walk);
  }
  return unit;
}

// --- internal ---

interface Walk extends UnitContext {
  unit: UnitFacts;
  owner: string | undefined;
}

function readChildren(node: Node, walk: Walk): void {
  forEachChild(node, (child) => read(child, walk));
}

function read(node: Node, walk: Walk): void {
  if (walk.steps.has(node)) return;
  switch (node.type) {
    case 'CallExpression':
    case 'OptionalCallExpression':
    case 'NewExpression':
      readCall(node, walk);
      break;
    case 'ExpressionStatement':
      readDropped(node.expression, walk);
      break;
    case 'TaggedTemplateExpression':
      addCall(walk, node.tag, node);
      break;
    case 'AssignmentExpression':
      readWrite(node.left, walk);
      break;
    case 'UpdateExpression':
      readWrite(node.argument, walk);
      break;
    case 'UnaryExpression':
      if (node.operator === 'delete') readWrite(node.argument, walk);
      break;
    case 'ForInStatement':
    case 'ForOfStatement':
      if (node.left.type !== 'VariableDeclaration') readWrite(node.left, walk);
      break;
    default:
      break;
  }
  readChildren(node, isOwnThis(node) ? { ...walk, owner: undefined } : walk);
}

/** A function that is no arrow has a `this` of its own, and so has a class. */
function isOwnThis(node: Node): boolean {
  if (node.type === 'ClassDeclaration' || node.type === 'ClassExpression') return true;
  return isFunction(node) && node.type !== 'ArrowFunctionExpression';
}

function readCall(node: t.CallExpression | t.OptionalCallExpression | t.NewExpression, walk: Walk): void {
  const { callee } = node;
  if (callee.type === 'Import') (walk.unit.loads ??= []).push(positionOf(node));
  if (node.type === 'CallExpression') addHanded(node, walk);
  addCall(walk, callee, node);
  if (isMember(callee)) readMethod(callee, node, walk);
  // What is handed over will be called: a function cannot be stored, nor passed to a step.
  for (const argument of node.arguments) addPassed(walk, argument);
}

function readMethod(callee: MemberNode, node: Node & { arguments: Node[] }, walk: Walk): void {
  const method = propertyName(callee);
  const [first] = node.arguments;
  if (method === undefined) return;
  const isAssign =
    method === 'assign' && unwrap(callee.object).type === 'Identifier' && labelOf(callee) === 'Object.assign';
  const object = isAssign ? first : callee.object;
  if (object) addChange(walk, object, node, isAssign ? undefined : method);
}

/** What a call that is not awaited may start: a function of the workspace, or what the runtime waits by. */
function readDropped(expression: Node, walk: Walk): void {
  const call = unwrap(expression);
  if (call.type !== 'CallExpression' && call.type !== 'OptionalCallExpression') return;
  const target = targetOf(call.callee, walk);
  if (!target || !(isOurs(target) || isWait(target))) return;
  (walk.unit.dropped ??= []).push({ target, label: labelOf(call.callee), ...positionOf(call) });
}

/** What a variable of a module is handed may be called later, and on behalf of another run. */
function addHanded(call: t.CallExpression, walk: Walk): void {
  const root = rootOf(call.callee);
  if (!root || !mayKeep(call.callee)) return;
  const name = walk.origins.moduleName(root);
  const target = walk.origins.of(root) ?? (name === undefined ? undefined : { path: name });
  if (!target || !isOurs(target)) return;
  const given = call.arguments.flatMap((argument) => targetsOf(unwrap(argument), walk));
  if (given.length > 0)
    (walk.unit.handed ??= []).push({ target, given, label: labelOf(call.callee), ...positionOf(call) });
}

/** Of a function what it calls, and of a name what it stands for. */
function targetsOf(node: Node, walk: Walk): Target[] {
  const found: Target[] = [];
  const add = (callee: Node): void => {
    const target = targetOf(callee, walk);
    if (target && (isOurs(target) || isWait(target))) found.push(target);
  };
  const visit = (inner: Node): void => {
    if (inner.type === 'CallExpression' || inner.type === 'OptionalCallExpression') add(inner.callee);
    forEachChild(inner, visit);
  };
  if (node.type === 'Identifier' || isMember(node)) add(node);
  else if (isFunction(node)) visit(node);
  return found;
}

function isOurs({ from }: Target): boolean {
  return from === undefined || from.startsWith('.');
}

/** The `a` of `a.b.c`. */
function rootOf(node: Node): Node | undefined {
  let root = unwrap(node);
  while (isMember(root)) root = unwrap(root.object);
  return root.type === 'Identifier' ? root : undefined;
}

function addCall(walk: Walk, callee: Node, place: Node): void {
  const target = targetOf(callee, walk);
  if (!target || !isOfInterest(target, walk)) return;
  const label = place.type === 'NewExpression' ? `new ${labelOf(callee)}` : labelOf(callee);
  walk.unit.calls.push({ target, label, ...positionOf(place) });
}

/** Left out: what may be no function at all, a client of a package and a class. */
function addPassed(walk: Walk, argument: Node): void {
  const value = unwrap(argument);
  if (value.type !== 'Identifier' && !isMember(value)) return;
  const target = targetOf(value, walk);
  const label = labelOf(value);
  if (!target || !isOfInterest(target, walk) || /(?:^|\.)[A-Z][^.]*$/.test(label)) return;
  if (isOurs(target) || target.from === 'globalThis') walk.unit.calls.push({ target, label, ...positionOf(value) });
}

/** `f.call(...)` and `f.apply(...)` call `f`; `this.m()` calls the method beside. */
function targetOf(node: Node, walk: Walk): Target | undefined {
  const value = unwrap(node);
  const name = isMember(value) ? propertyName(value) : undefined;
  if (isMember(value) && name !== undefined && unwrap(value.object).type === 'ThisExpression')
    return walk.owner === undefined ? undefined : { path: `${walk.owner}.${name}` };
  const target = walk.origins.of(value);
  if (target && (name === 'call' || name === 'apply' || name === 'bind'))
    return { ...target, path: target.path.replace(/\.(?:call|apply|bind)$/, '') };
  return target;
}

function isOfInterest(target: Target, { names }: Walk): boolean {
  if (target.from === undefined) return names.has(target.path);
  return target.from.startsWith('.') ? target.path !== '' : findAdvice(target) !== undefined;
}

function readWrite(node: Node, walk: Walk): void {
  for (const id of patternNames(node)) {
    const name = walk.origins.moduleName(id);
    if (name !== undefined)
      walk.unit.writes.push({ target: { path: name }, label: name, isAssigned: true, ...positionOf(id) });
  }
  for (const member of membersOf(node)) {
    const replaced = walk.origins.of(member);
    if (replaced?.from === 'globalThis') walk.replaced.add(replaced.path);
    else addChange(walk, member.object, member, undefined);
  }
}

function addChange(walk: Walk, object: Node, place: Node, method: string | undefined): void {
  if (method !== undefined && !mayChangeState(method)) return;
  const target = walk.origins.of(object);
  if (!target || !(target.from === undefined || target.from.startsWith('.'))) return;
  if (!isStateChange(target.from === undefined ? walk.states : undefined, target.path, method)) return;
  const label = labelOf(object);
  walk.unit.writes.push({ target, label, ...(method !== undefined && { method }), ...positionOf(place) });
}

/** The members a pattern assigns: `[state.a, { b: state.c }]`. */
function membersOf(node: Node): MemberNode[] {
  const pattern = unwrap(node);
  if (isMember(pattern)) return [pattern];
  if (pattern.type === 'AssignmentPattern') return membersOf(pattern.left);
  if (pattern.type === 'RestElement') return membersOf(pattern.argument);
  if (pattern.type === 'ArrayPattern') return pattern.elements.flatMap((one) => (one ? membersOf(one) : []));
  if (pattern.type !== 'ObjectPattern') return [];
  return pattern.properties.flatMap((one) => membersOf(one.type === 'RestElement' ? one.argument : one.value));
}

type MemberNode = t.MemberExpression | t.OptionalMemberExpression;

function isMember(node: Node): node is MemberNode {
  return node.type === 'MemberExpression' || node.type === 'OptionalMemberExpression';
}

function labelOf(node: Node): string {
  const value = unwrap(node);
  if (value.type === 'Identifier') return value.name;
  if (value.type === 'ThisExpression') return 'this';
  if (!isMember(value)) return '';
  const object = labelOf(value.object);
  const name = propertyName(value) ?? '[]';
  return object === '' ? name : `${object}.${name}`;
}
