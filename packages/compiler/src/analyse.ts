import type { types as t } from '@babel/core';
import type { Aliases } from './aliases.ts';
import { forEachChild, literalText, memberPath, positionOf, unwrap } from './ast.ts';
import type { Node, Position } from './ast.ts';
import { checkCaptures } from './check/captures.ts';
import { checkDirectives } from './check/directives.ts';
import { findSchedulePlaces } from './schedule-places.ts';
import { checkSettings, SETTINGS } from './check/settings.ts';
import { exportNameOf, nameOf, readExports } from './exports.ts';
import { findFreeNames, mayHoldFreeNames } from './free-names.ts';
import type { FreeName } from './free-names.ts';
import type { Finding } from './finding.ts';
import { findFunctions, isWorkflow, stepName } from './functions.ts';
import type { FoundFunctions, MarkedFunction } from './functions.ts';
import type { Parse } from './parse.ts';
import { resolveNames } from './scope.ts';
import type { Names } from './scope.ts';
import { findUnits } from './units.ts';
import type { Exported, ReplayFacts } from './replay-facts.ts';

/** What one file says, as plain data: nothing in it depends on another file. */
export interface FileFacts {
  /** `imports`: only they were read, by a regular expression; the other lists are empty. */
  depth: 'imports' | 'full';
  /** Relative specifiers, in order. */
  imports: string[];
  /** Names this file exports, except those of `stars`. */
  exports: string[];
  /** Relative specifiers of `export * from`. */
  stars: string[];
  workflows: WorkflowFacts[];
  steps: StepFacts[];
  /** The literal `name` of the default export's `defineDeepAgent({ name })`. */
  agentName?: { value: string } & Position;
  /** What its functions do that a replay minds. Left out: nothing. */
  replay?: ReplayFacts;
  /** Of a file with a workflow: names it does not explain. Left out: none. */
  freeNames?: FreeName[];
  findings: Finding[];
}

export interface WorkflowFacts extends Position {
  /** As the module gives it: `refund`, `Billing.charge` for a static method. Null: the function is not exported. */
  exportName: string | null;
  /** What to do about that, where "export" before it is not it. */
  advice?: string;
  /** Settings assigned to it: `refund.inputSchema = ...`. Left out: none. */
  settings?: string[];
  /** Where its schedules stand, in their order. Left out: it has none. */
  schedulePlaces?: Position[];
}

export interface StepFacts {
  name: string;
  line: number;
}

export interface AnalyseOptions {
  code: string;
  /** Relative to the workspace root with forward slashes. */
  file: string;
  parse: Parse;
  aliases: Aliases;
}

export function analyseFile({ code, file, parse, aliases }: AnalyseOptions): FileFacts {
  let program: t.Program;
  try {
    ({ program } = parse(code, file));
  } catch (error) {
    return { ...analyseImports({ code, file, aliases }), depth: 'full', findings: [toFinding(error)] };
  }
  if (aliases.key !== '') resolveAliases(program, (specifier) => aliases.toRelative(file, specifier));
  const found = findFunctions(program);
  const names = once(() => resolveNames(program));
  const exported = readExports(program);
  const agentName = findAgentName(program, exported);
  const replay = findUnits({ code, program, marked: found.marked, exported, names });
  const freeNames = found.marked.some(isWorkflow) && mayHoldFreeNames(found) ? findFreeNames(names()) : [];
  return {
    depth: 'full',
    imports: [...new Set([...readImports(program), ...found.dynamicImports])],
    exports: exported.map(({ name }) => name),
    stars: program.body.flatMap((node) => (node.type === 'ExportAllDeclaration' ? relative(node.source) : [])),
    workflows: found.marked
      .filter(isWorkflow)
      .map((one, _index, all) => toWorkflow(one, exported, program, all.length)),
    steps: found.marked.flatMap(toStep),
    ...(agentName && { agentName }),
    ...(replay && { replay }),
    ...(freeNames.length > 0 && { freeNames }),
    findings: findAll({ found, exported, names }),
  };
}

/** What a file without directives has to say: where its imports lead. */
export function analyseImports({ code, file, aliases }: Omit<AnalyseOptions, 'parse'>): FileFacts {
  const all = Array.from(code.matchAll(IMPORT), ([, , specifier]) => specifier ?? '');
  const imports = all.flatMap((one) => (/^\.{1,2}\//.test(one) ? one : (aliases.toRelative(file, one) ?? [])));
  const facts: FileFacts = { ...NO_FACTS, imports: [...new Set(imports)] };
  return facts;
}

// --- internal ---

const NO_FACTS: FileFacts = {
  depth: 'imports',
  imports: [],
  exports: [],
  stars: [],
  workflows: [],
  steps: [],
  findings: [],
};

const IMPORT = /\b(?:from|import)\s*\(?\s*(['"])([^'"\n]+)\1/g;

/** From here on an import by an alias is one of the file it means. */
function resolveAliases(node: Node, toRelative: (specifier: string) => string | undefined): void {
  const visit = (child: Node): void => {
    const isDynamic = child.type === 'CallExpression' && child.callee.type === 'Import';
    const source = isDynamic ? child.arguments[0] : 'source' in child ? child.source : undefined;
    if (source?.type === 'StringLiteral') source.value = toRelative(source.value) ?? source.value;
    forEachChild(child, visit);
  };
  visit(node);
}

interface FoundInFile {
  found: FoundFunctions;
  exported: Exported[];
  names(): Names;
}

function findAll({ found, exported, names }: FoundInFile): Finding[] {
  if (found.marked.length === 0 && found.strings.length === 0) return [];
  const findings = [
    ...checkDirectives(found),
    ...checkCaptures(found.marked, names),
    ...checkSettings(found.marked, exported),
  ];
  return findings.sort((a, b) => a.line - b.line || a.column - b.column);
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

function toFinding(error: unknown): Finding {
  const { message, loc } = error as { message: string; loc?: { line: number; column: number } };
  const reason = message.replace(/\s*\(\d+:\d+\)$/, '').replace(/\.$/, '');
  return {
    code: 'syntax_error',
    message: `This file does not parse: ${reason}.`,
    line: loc?.line ?? 1,
    column: (loc?.column ?? 0) + 1,
  };
}

function toWorkflow(marked: MarkedFunction, exported: Exported[], program: t.Program, count: number): WorkflowFacts {
  const place = marked.directives.find(({ directive }) => directive === 'use workflow');
  const settings = listAssigned(program, marked.path);
  const advice = adviseExport(marked);
  const schedulePlaces = findSchedulePlaces(program, { path: marked.path, isOnly: count === 1 });
  return {
    exportName: exportNameOf(marked, exported),
    ...(advice !== undefined && { advice }),
    ...(settings.length > 0 && { settings }),
    ...(schedulePlaces && { schedulePlaces }),
    ...positionOf(place?.node ?? marked.node),
  };
}

/** A method is exported with what holds it, and an object's or an instance's cannot be. */
function adviseExport({ node, enclosing, path }: MarkedFunction): string | undefined {
  const isMethod = node.type === 'ClassMethod' || node.type === 'ClassPrivateMethod';
  if (enclosing.length > 0) return 'It is inside another function: move it to the top of the module, and export it.';
  if (node.type === 'ClassMethod' && node.static && node.kind === 'method')
    return 'Write "export" before its class; a method that is private, protected or has a computed name cannot be started.';
  if (!isMethod && node.type !== 'ObjectMethod' && !path?.includes('.')) return undefined;
  return 'Only a function of the module and a static method of an exported class can be started: make it one.';
}

/** What statements of the module assign to a function: `refund.inputSchema = ...` gives `inputSchema`. */
function listAssigned(program: t.Program, path: string | undefined): string[] {
  return program.body.flatMap((node) => {
    if (path === undefined || node.type !== 'ExpressionStatement') return [];
    const assignment = unwrap(node.expression);
    const target = assignment.type === 'AssignmentExpression' ? memberPath(assignment.left) : undefined;
    const [, owner, name = ''] = /^(.*)\.([^.]+)$/.exec(target ?? '') ?? [];
    return owner === path && SETTINGS.has(name) ? [name] : [];
  });
}

function toStep(marked: MarkedFunction): StepFacts[] {
  if (isWorkflow(marked)) return [];
  return [{ name: stepName(marked), line: positionOf(marked.node).line }];
}

function readImports(program: t.Program): string[] {
  return program.body.flatMap((node) => {
    if (node.type === 'ImportDeclaration') return node.importKind === 'type' ? [] : relative(node.source);
    if (node.type === 'ExportAllDeclaration') return node.exportKind === 'type' ? [] : relative(node.source);
    if (node.type === 'ExportNamedDeclaration' && node.exportKind !== 'type') return relative(node.source);
    return [];
  });
}

function relative(source: t.StringLiteral | null | undefined): string[] {
  return source?.value.startsWith('.') ? [source.value] : [];
}

function findAgentName(program: t.Program, exported: Exported[]): FileFacts['agentName'] {
  const entry = exported.find(({ name }) => name === 'default');
  if (!entry) return undefined;
  const value = entry.local ? findInit(program, entry.local) : unwrap(entry.node);
  if (value?.type !== 'CallExpression' || !isDefineCall(program, value.callee)) return undefined;
  const [options] = value.arguments;
  if (options?.type !== 'ObjectExpression') return undefined;
  for (const property of options.properties) {
    if (property.type !== 'ObjectProperty' || property.computed || nameOf(property.key) !== 'name') continue;
    const text = literalText(unwrap(property.value));
    return text === undefined ? undefined : { value: text, ...positionOf(property.value) };
  }
  return undefined;
}

function findInit(program: t.Program, local: string): Node | undefined {
  for (const statement of program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (node?.type !== 'VariableDeclaration') continue;
    const found = node.declarations.find((one) => one.id.type === 'Identifier' && one.id.name === local);
    if (found?.init) return unwrap(found.init);
  }
  return undefined;
}

function isDefineCall(program: t.Program, callee: Node): boolean {
  if (callee.type === 'MemberExpression') return !callee.computed && nameOf(callee.property) === 'defineDeepAgent';
  if (callee.type !== 'Identifier') return false;
  const specifiers = program.body.flatMap((node) => (node.type === 'ImportDeclaration' ? node.specifiers : []));
  const imported = specifiers.find((one) => one.local.name === callee.name);
  return imported?.type === 'ImportSpecifier' && nameOf(imported.imported) === 'defineDeepAgent';
}
