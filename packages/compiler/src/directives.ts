import type { types as t } from '@babel/core';
import { exportNameOf, readExports } from './analyse.ts';
import { isFunction, positionOf } from './ast.ts';
import type { Node, Slot } from './ast.ts';
import { findClasses, mayHoldClass } from './classes.ts';
import type { RecordableClass } from './classes.ts';
import { findFunctions, isWorkflow, stepName } from './functions.ts';
import type { MarkedFunction } from './functions.ts';
import { stepId } from './manifest.ts';
import { loadBabel, parserOptions } from './parse.ts';
import { lowerUsing, mayHoldUsing } from './using.ts';
import { mayHoldDirective } from './words.ts';

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
  /** The workflow this file holds, or null. */
  workflow: { name: string; exportName: string } | null;
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
  const workflows = valid.filter((one) => isWorkflow(one) && exportNameOf(one, exported) !== null);
  const workflow = findWorkflow(file, workflows, exported);
  const classes = mayHoldClass(code) ? findClasses(ast.program) : [];
  if (steps.length === 0 && !workflow && classes.length === 0) return null;
  for (const one of valid) dropDirective(one);
  for (const one of classes) registerClass(rewrite, one);
  for (const one of steps) rewriteStep(rewrite, one);
  if (workflow) for (const one of workflows) markWorkflow(rewrite, one, workflow.name);
  if (mayHoldUsing(code)) lowerUsing(babel.types, ast.program);
  ast.program.body.unshift(importRuntime(rewrite));
  const output = babel.transformFromAstSync(ast, code, { ...BARE, ...OUTPUT, filename: id, sourceFileName: id });
  if (!output?.code || !output.map) return null;
  return { code: output.code, map: output.map as SourceMap, steps: result, workflow };
}

// --- internal ---

const BARE = { configFile: false, babelrc: false, browserslistConfigFile: false } as const;
const OUTPUT = { sourceMaps: true, cloneInputAst: false, compact: false, retainLines: false } as const;
const WORKFLOW_FILE = /^workflows\/([^/]+)\.workflow\.ts$/;

interface Rewrite {
  t: typeof t;
  file: string;
  /** The local name of the runtime's namespace. */
  svc: string;
  code: string;
  program: t.Program;
}

function isValid({ node, directives }: MarkedFunction): boolean {
  const kinds = new Set(directives.map(({ directive }) => directive));
  return kinds.size === 1 && node.async === true && !node.generator && node.type !== 'ClassPrivateMethod';
}

function freeName(wanted: string, code: string): string {
  let name = wanted;
  for (let i = 1; code.includes(name); i++) name = `${wanted}${i}`;
  return name;
}

function idOf({ file }: Rewrite, marked: MarkedFunction): string {
  return stepId(file, stepName(marked));
}

function findWorkflow(file: string, marked: MarkedFunction[], exported: ReturnType<typeof readExports>) {
  const name = WORKFLOW_FILE.exec(file)?.[1];
  const exportName = marked.map((one) => exportNameOf(one, exported)).find((one) => one !== null);
  return name && exportName ? { name, exportName } : null;
}

function dropDirective({ node, directives }: MarkedFunction): void {
  if (node.body.type !== 'BlockStatement') return;
  node.body.directives = node.body.directives.filter((one) => !directives.some((marked) => marked.node === one));
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
  const place = () => t.memberExpression(t.cloneNode(owner), t.cloneNode(node.key as t.Expression), !isName);
  const assignment = t.assignmentExpression('=', place(), createStep(rewrite, marked, place()));
  body.body.unshift(t.staticBlock([t.expressionStatement(assignment)]));
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

function markWorkflow(rewrite: Rewrite, marked: MarkedFunction, workflow: string): void {
  const { t } = rewrite;
  const [statement] = marked.slots;
  const name = statement && nameWorkflow(rewrite, marked, statement);
  if (!name) return;
  const call = t.callExpression(member(rewrite, 'markWorkflow'), [t.identifier(name), t.stringLiteral(workflow)]);
  insertAfter(statement, t.expressionStatement(call));
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
