import type { types as t } from '@babel/core';
import { isFunction, positionOf } from './ast.ts';
import type { FunctionNode, Node, Slot } from './ast.ts';
import { bindCallbacks } from './callbacks.ts';
import { findCaptures, isInner } from './captures.ts';
import type { Captures } from './captures.ts';
import { findClasses, mayHoldClass } from './classes.ts';
import type { RecordableClass } from './classes.ts';
import { exportNameOf, readExports } from './exports.ts';
import { findFunctions, isGetterStep, isWorkflow, stepName } from './functions.ts';
import type { MarkedFunction } from './functions.ts';
import { stepId } from './manifest.ts';
import { loadBabel, parserOptions } from './parse.ts';
import { resolveNames } from './scope.ts';
import type { Names } from './scope.ts';
import { lowerUsing, mayHoldUsing } from './using.ts';
import { mayHoldDirective } from './words.ts';
import { nameWorkflows, workflowFileName } from './workflow-names.ts';

export interface TransformOptions {
  code: string;
  /** Relative to the workspace root with forward slashes: the first half of every step id. */
  file: string;
  /** The name the source map gives the file: its absolute path. */
  id: string;
}

export interface TransformResult {
  /** Still TypeScript: only what a directive needs was changed. */
  code: string;
  map: SourceMap;
  steps: { id: string; name: string; line: number }[];
  /** The workflows this file holds. */
  workflows: { name: string; exportName: string }[];
}

export interface SourceMap {
  version: number;
  sources: string[];
  sourcesContent?: (string | null)[];
  names: string[];
  mappings: string;
}

/**
 * Turns marked functions into calls of the runtime, and makes classes known that say how they are recorded. Null: the
 * file holds neither. Throws what the parser throws
 * on a syntax error. A function whose directive is a problem (`check/`) is left as it is.
 */
export async function transformDirectives({ code, file, id }: TransformOptions): Promise<TransformResult | null> {
  if (!mayHoldDirective(code) && !mayHoldClass(code)) return null;
  const babel = loadBabel();
  const ast = babel.parseSync(code, { ...BARE, filename: id, parserOpts: parserOptions(file) });
  if (!ast) return null;
  const { marked } = findFunctions(ast.program);
  const valid = marked.filter(isValid);
  const exported = readExports(ast.program);
  const rewrite: Rewrite = { t: babel.types, file, svc: freeName('__svc', code), code, program: ast.program };
  const steps = valid.filter((one) => !isWorkflow(one));
  const result = steps.map((one) => ({ id: idOf(rewrite, one), name: stepName(one), line: positionOf(one.node).line }));
  const workflows = findWorkflows(file, valid, exported);
  const misplaced = findMisplaced(file, valid, exported);
  const classes = mayHoldClass(code) ? findClasses(ast.program) : [];
  if ([steps, workflows, misplaced, classes].every(({ length }) => length === 0)) return null;
  const [top] = ast.program.body;
  let resolved: Names | undefined;
  const names = () => (resolved ??= resolveNames(ast.program));
  const inner = findInner(steps, marked, names);
  for (const one of valid) dropDirective(one);
  const bind = (as: string) => member(rewrite, as);
  const nodesOf = (list: readonly MarkedFunction[]) => new Set<Node>(list.map(({ node }) => node));
  bindCallbacks({
    types: rewrite.t,
    program: ast.program,
    bind,
    names,
    steps: nodesOf(steps),
    workflows: nodesOf(valid.filter(isWorkflow)),
  });
  for (const one of classes) registerClass(rewrite, one);
  for (const { step, captures } of inner) rewriteInner(rewrite, step, captures);
  for (const one of steps) if (!inner.some(({ step }) => step === one)) rewriteStep(rewrite, one);
  for (const { marked: one, name } of workflows) mark(rewrite, one, ['markWorkflow', name]);
  for (const one of misplaced) mark(rewrite, one, ['markMisplaced', file]);
  if (mayHoldUsing(code)) lowerUsing(babel.types, ast.program);
  const runtime = importRuntime(rewrite);
  // Only what is above everything says how JSX is meant.
  if (file.endsWith('x') && top) moveComments(top, runtime);
  ast.program.body.unshift(runtime);
  const output = babel.transformFromAstSync(ast, code, { ...BARE, ...OUTPUT, filename: id, sourceFileName: id });
  if (!output?.code || !output.map) return null;
  return {
    code: output.code,
    map: output.map as SourceMap,
    steps: result,
    workflows: workflows.map(({ name, exportName }) => ({ name, exportName })),
  };
}

// --- internal ---

const BARE = { configFile: false, babelrc: false, browserslistConfigFile: false } as const;
const OUTPUT = { sourceMaps: true, cloneInputAst: false, compact: false, retainLines: false } as const;

interface Rewrite {
  t: typeof t;
  file: string;
  /** The local name of the runtime's namespace. */
  svc: string;
  code: string;
  program: t.Program;
}

function isValid(marked: MarkedFunction): boolean {
  const { node, directives } = marked;
  const kinds = new Set(directives.map(({ directive }) => directive));
  const isAsync = node.async === true || isGetterStep(marked);
  return kinds.size === 1 && isAsync && !node.generator && node.type !== 'ClassPrivateMethod';
}

function freeName(wanted: string, code: string): string {
  let name = wanted;
  for (let i = 1; code.includes(name); i++) name = `${wanted}${i}`;
  return name;
}

function idOf({ file }: Rewrite, marked: MarkedFunction): string {
  return stepId(file, stepName(marked));
}

function findWorkflows(file: string, marked: MarkedFunction[], exported: ReturnType<typeof readExports>) {
  if (workflowFileName(file) === undefined) return [];
  const found = marked.filter(isWorkflow).flatMap((one) => {
    const exportName = exportNameOf(one, exported);
    return exportName === null ? [] : [{ marked: one, exportName }];
  });
  const names = nameWorkflows(
    file,
    found.map(({ exportName }) => exportName),
  );
  return found.map((one) => ({ ...one, name: names.get(one.exportName) ?? '' }));
}

/** Those of a file that is no workflow file: nothing finds them there, and whoever hands one over is answered why. */
function findMisplaced(file: string, marked: MarkedFunction[], exported: ReturnType<typeof readExports>) {
  if (workflowFileName(file) !== undefined) return [];
  return marked.filter((one) => isWorkflow(one) && exportNameOf(one, exported) !== null);
}

function dropDirective({ node, directives }: MarkedFunction): void {
  if (node.body.type !== 'BlockStatement') return;
  node.body.directives = node.body.directives.filter((one) => !directives.some((marked) => marked.node === one));
}

interface Inner {
  step: MarkedFunction;
  captures: Captures;
}

/** Those that are made outside of the function they stand in. */
function findInner(steps: MarkedFunction[], marked: MarkedFunction[], names: () => Names): Inner[] {
  const candidates = steps.filter(isInner);
  if (candidates.length === 0) return [];
  return candidates
    .map((step) => ({ step, captures: findCaptures(step, marked, names()) }))
    .filter(({ captures }) => captures.isMovable && captures.refused.length === 0);
}

/**
 * What makes the step moves to the top of the module, so that it can be found when the function around it has not run;
 * where it stood it is called with what it uses there.
 */
function rewriteInner(rewrite: Rewrite, marked: MarkedFunction, { names, self }: Captures): void {
  const { t } = rewrite;
  const { node } = marked;
  const slot = marked.slots.at(-1);
  if (!slot) return;
  const id = t.stringLiteral(idOf(rewrite, marked));
  const property = (name: string) => t.objectProperty(t.identifier(name), t.identifier(name), false, true);
  const capture = () => t.arrowFunctionExpression([], t.objectExpression(names.map(property)));
  const captured = names.length > 0 ? [capture()] : [];
  if (node.type === 'FunctionDeclaration') {
    const { name } = (node.id ??= t.identifier(freeName('step', rewrite.code)));
    const args = t.identifier(name === 'args' ? 'args_' : 'args');
    const call = t.callExpression(member(rewrite, 'callStep'), [
      t.cloneNode(id),
      t.identifier(name),
      t.nullLiteral(),
      t.thisExpression(),
      args,
      ...captured,
    ]);
    call.loc = node.loc ?? null;
    const wrapper = t.functionDeclaration(
      t.identifier(name),
      [t.restElement(args)],
      t.blockStatement([t.returnStatement(call)]),
      false,
      true,
    );
    putAt(slot, wrapper);
    moveComments(node, wrapper);
    const known = [t.identifier(name), t.cloneNode(id), ...(names.length > 0 ? [capture()] : [])];
    const list = listOf(marked.slots.findLast(({ parent }) => isList(parent)) ?? slot);
    list.unshift(t.expressionStatement(t.callExpression(member(rewrite, 'registerStep'), known)));
  } else {
    const made = t.callExpression(member(rewrite, 'createClosure'), [t.cloneNode(id), ...captured]);
    putAt(slot, node.type === 'ObjectMethod' ? t.objectProperty(node.key, made, node.computed) : made);
  }
  // A pattern of its own even when it is empty: behind it stands the step itself.
  const pattern = t.objectPattern(names.map(property));
  const isNamed = self !== undefined && node.type !== 'FunctionDeclaration';
  const factory = t.arrowFunctionExpression([pattern, ...(isNamed ? [t.identifier(self)] : [])], toExpression(t, node));
  const statement = t.callExpression(member(rewrite, 'registerClosure'), [id, factory]);
  rewrite.program.body.unshift(t.expressionStatement(statement));
}

/** The function as written, as an expression. */
function toExpression({ functionExpression }: typeof t, node: FunctionNode): t.Expression {
  if (node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression') return node;
  const name = node.type === 'FunctionDeclaration' ? node.id : null;
  const params = node.params as t.FunctionExpression['params'];
  const value = functionExpression(name ? { ...name } : null, params, node.body as t.BlockStatement, false, true);
  value.loc = node.loc ?? null;
  return value;
}

function rewriteStep(rewrite: Rewrite, marked: MarkedFunction): void {
  const { node } = marked;
  const slot = marked.slots.at(-1);
  if (!slot) return;
  if (node.type === 'FunctionDeclaration') splitDeclaration(rewrite, marked, node);
  else if (node.type === 'ObjectMethod') putAt(slot, toProperty(rewrite, marked, node));
  else if (node.type === 'ClassMethod') wrapMethod(rewrite, marked, node);
  else putAt(slot, createStep(rewrite, marked, node as t.Expression));
}

/** The name stays a hoisted declaration, so that options set on it hold whether they stand above or below. */
function splitDeclaration(rewrite: Rewrite, marked: MarkedFunction, node: t.FunctionDeclaration): void {
  const { t } = rewrite;
  node.id ??= t.identifier(freeName('step', rewrite.code));
  const { name } = node.id;
  const impl = freeName(`${name}$step`, rewrite.code);
  const args = t.identifier(name === 'args' ? 'args_' : 'args');
  const call = t.callExpression(member(rewrite, 'callStep'), [
    t.stringLiteral(idOf(rewrite, marked)),
    t.identifier(name),
    t.identifier(impl),
    t.thisExpression(),
    args,
  ]);
  // The wrapper is a frame of its own in a stack trace: it stands where the function does.
  call.loc = node.loc ?? null;
  const body = t.blockStatement([t.returnStatement(call)]);
  const wrapper = t.functionDeclaration(t.identifier(name), [t.restElement(args)], body, false, true);
  const statement = marked.slots.findLast(({ parent }) => isList(parent)) ?? marked.slots.at(-1);
  const slot = marked.slots.at(-1);
  if (!statement || !slot) return;
  putAt(slot, wrapper);
  // Above what is in the module: whoever is handed the step finds it known.
  const known = [t.identifier(name), t.stringLiteral(idOf(rewrite, marked))];
  listOf(statement).unshift(t.expressionStatement(t.callExpression(member(rewrite, 'registerStep'), known)));
  insertAfter(statement, { ...node, id: t.identifier(impl), leadingComments: null, trailingComments: null });
  moveComments(node, wrapper);
}

function toProperty(rewrite: Rewrite, marked: MarkedFunction, node: t.ObjectMethod): t.ObjectProperty {
  const { t } = rewrite;
  const value = t.functionExpression(null, node.params as t.FunctionExpression['params'], node.body, false, true);
  value.loc = node.loc ?? null;
  return t.objectProperty(node.key, createStep(rewrite, marked, value), node.computed);
}

/** The method stays where it is, for `super` and private names; the class replaces it before any field is set. */
function wrapMethod(rewrite: Rewrite, marked: MarkedFunction, node: t.ClassMethod): void {
  const { t } = rewrite;
  const body = marked.slots.at(-1)?.parent;
  if (body?.type !== 'ClassBody' || node.computed) return;
  const owner = node.static ? t.thisExpression() : t.memberExpression(t.thisExpression(), t.identifier('prototype'));
  const isName = node.key.type === 'Identifier';
  if (node.kind === 'get') return wrapGetter(rewrite, marked, { body, owner, key: node.key as t.Expression });
  const place = () => t.memberExpression(t.cloneNode(owner), t.cloneNode(node.key as t.Expression), !isName);
  const assignment = t.assignmentExpression('=', place(), createStep(rewrite, marked, place()));
  body.body.unshift(t.staticBlock([t.expressionStatement(assignment)]));
}

/** A getter has no value to replace: its property is defined again. */
function wrapGetter(
  rewrite: Rewrite,
  marked: MarkedFunction,
  { body, owner, key }: { body: t.ClassBody; owner: t.Expression; key: t.Expression },
): void {
  const { t } = rewrite;
  const name = key.type === 'Identifier' ? t.stringLiteral(key.name) : key;
  const call = t.callExpression(member(rewrite, 'createGetterStep'), [
    t.stringLiteral(idOf(rewrite, marked)),
    owner,
    name,
  ]);
  body.body.unshift(t.staticBlock([t.expressionStatement(call)]));
}

/** In the class itself, so that it is known as soon as there can be an instance. */
function registerClass(rewrite: Rewrite, { node, name }: RecordableClass): void {
  const { t, file } = rewrite;
  const call = t.callExpression(member(rewrite, 'registerClass'), [
    t.thisExpression(),
    t.stringLiteral(stepId(file, name)),
  ]);
  node.body.body.unshift(t.staticBlock([t.expressionStatement(call)]));
}

function createStep(rewrite: Rewrite, marked: MarkedFunction, implementation: t.Expression): t.Expression {
  const { t } = rewrite;
  return t.callExpression(member(rewrite, 'createStep'), [t.stringLiteral(idOf(rewrite, marked)), implementation]);
}

/** Calls the function of the runtime on the workflow, with the text behind it. */
function mark(rewrite: Rewrite, marked: MarkedFunction, call: MarkCall): void {
  const { t } = rewrite;
  if (marked.node.type === 'ClassMethod') return markStatic(rewrite, marked, call);
  const [statement] = marked.slots;
  const name = statement && nameWorkflow(rewrite, marked, statement);
  if (!name) return;
  insertAfter(statement, t.expressionStatement(toMarkCall(rewrite, t.identifier(name), call)));
}

function markStatic(rewrite: Rewrite, { node, slots }: MarkedFunction, call: MarkCall): void {
  const { t } = rewrite;
  const body = slots.at(-1)?.parent;
  if (body?.type !== 'ClassBody' || node.type !== 'ClassMethod') return;
  const method = t.memberExpression(t.thisExpression(), t.cloneNode(node.key as t.Identifier));
  body.body.push(t.staticBlock([t.expressionStatement(toMarkCall(rewrite, method, call))]));
}

type MarkCall = readonly ['markWorkflow' | 'markMisplaced', string];

function toMarkCall(rewrite: Rewrite, fn: t.Expression, [name, text]: MarkCall): t.CallExpression {
  return rewrite.t.callExpression(member(rewrite, name), [fn, rewrite.t.stringLiteral(text)]);
}

/** The module-level name of the workflow function; a default export without one is given one. */
function nameWorkflow({ t, code }: Rewrite, { node, slots }: MarkedFunction, statement: Slot): string | undefined {
  const fresh = freeName('workflow', code);
  if (node.type === 'FunctionDeclaration') {
    node.id ??= t.identifier(fresh);
    return node.id.name;
  }
  const declarator = slots.find((slot) => slot.node.type === 'VariableDeclarator')?.node;
  if (declarator?.type === 'VariableDeclarator') {
    return declarator.id.type === 'Identifier' ? declarator.id.name : undefined;
  }
  if (statement.node.type !== 'ExportDefaultDeclaration' || !isFunction(node)) return undefined;
  const value = statement.node.declaration as t.Expression;
  insertBefore(statement, t.variableDeclaration('const', [t.variableDeclarator(t.identifier(fresh), value)]));
  statement.node.declaration = t.identifier(fresh);
  return fresh;
}

function importRuntime({ t, svc }: Rewrite): t.ImportDeclaration {
  return t.importDeclaration([t.importNamespaceSpecifier(t.identifier(svc))], t.stringLiteral('@svc/runtime/internal'));
}

function member({ t, svc }: Rewrite, name: string): t.MemberExpression {
  return t.memberExpression(t.identifier(svc), t.identifier(name));
}

const LISTS = new Set(['Program', 'BlockStatement', 'StaticBlock', 'SwitchCase', 'TSModuleBlock']);

function isList(node: Node): boolean {
  return LISTS.has(node.type);
}

function listOf({ parent, key }: Slot): Node[] {
  return (parent as unknown as Record<string, Node[]>)[key] ?? [];
}

function insertAfter(slot: Slot, node: Node): void {
  const list = listOf(slot);
  list.splice(list.indexOf(slot.node) + 1, 0, node);
}

function insertBefore(slot: Slot, node: Node): void {
  const list = listOf(slot);
  list.splice(list.indexOf(slot.node), 0, node);
}

function putAt(slot: Slot, node: Node): void {
  const fields = slot.parent as unknown as Record<string, Node | Node[]>;
  const value = fields[slot.key];
  if (Array.isArray(value)) value[value.indexOf(slot.node)] = node;
  else fields[slot.key] = node;
  slot.node = node;
}

function moveComments(from: Node, to: Node): void {
  to.leadingComments = from.leadingComments ?? null;
  from.leadingComments = null;
}
