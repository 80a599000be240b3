import type { types as t } from '@babel/core';
import { literalText, patternNames, positionOf, unwrap } from './ast.ts';
import type { Node, Position } from './ast.ts';
import { checkCaptures } from './check/captures.ts';
import { checkDirectives } from './check/directives.ts';
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
  /** Null: the function is not exported. */
  exportName: string | null;
}

export interface StepFacts {
  name: string;
  line: number;
}

export function analyseFile(code: string, file: string, parse: Parse): FileFacts {
  let program: t.Program;
  try {
    ({ program } = parse(code, file));
  } catch (error) {
    return { ...analyseImports(code), depth: 'full', findings: [toFinding(error)] };
  }
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
    workflows: found.marked.filter(isWorkflow).map((one) => toWorkflow(one, exported)),
    steps: found.marked.flatMap(toStep),
    ...(agentName && { agentName }),
    ...(replay && { replay }),
    ...(freeNames.length > 0 && { freeNames }),
    findings: findAll(found, names),
  };
}

/** What a file without directives has to say: where its imports lead. */
export function analyseImports(code: string): FileFacts {
  const imports = Array.from(code.matchAll(RELATIVE_IMPORT), ([, , specifier]) => specifier ?? '');
  const facts: FileFacts = { ...NO_FACTS, imports: [...new Set(imports)] };
  return facts;
}

export function readExports(program: t.Program): Exported[] {
  return program.body.flatMap((node) => {
    if (node.type === 'ExportDefaultDeclaration') return [readDefault(node)];
    if (node.type !== 'ExportNamedDeclaration' || node.exportKind === 'type') return [];
    return node.declaration ? readDeclaration(node.declaration) : readSpecifiers(node);
  });
}

/** The name a module-level function is exported under, or null. */
export function exportNameOf({ slots, node }: MarkedFunction, exported: Exported[]): string | null {
  const [statement] = slots;
  const direct = exported.find((one) => unwrap(one.node) === node);
  if (direct) return direct.name;
  const local = statement && localName(slots.map((slot) => slot.node));
  return exported.find((one) => local !== undefined && one.local === local)?.name ?? null;
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

const RELATIVE_IMPORT = /\b(?:from|import)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]+)\1/g;

function findAll(found: FoundFunctions, names: () => Names): Finding[] {
  if (found.marked.length === 0 && found.strings.length === 0) return [];
  const findings = [...checkDirectives(found), ...checkCaptures(found.marked, names)];
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

function toWorkflow(marked: MarkedFunction, exported: Exported[]): WorkflowFacts {
  const place = marked.directives.find(({ directive }) => directive === 'use workflow');
  return { exportName: exportNameOf(marked, exported), ...positionOf(place?.node ?? marked.node) };
}

function toStep(marked: MarkedFunction): StepFacts[] {
  if (isWorkflow(marked)) return [];
  return [{ name: stepName(marked), line: positionOf(marked.node).line }];
}

/** The module-level name of a function: a declaration, or the whole value of a variable. */
function localName([statement, ...inner]: Node[]): string | undefined {
  const isExport = statement?.type === 'ExportNamedDeclaration' || statement?.type === 'ExportDefaultDeclaration';
  const [node, declarator, ...value] = isExport ? inner : [statement, ...inner];
  if (node?.type === 'FunctionDeclaration' && !declarator) return node.id?.name;
  if (node?.type !== 'VariableDeclaration' || declarator?.type !== 'VariableDeclarator') return undefined;
  const isWhole = declarator.init && unwrap(declarator.init) === value.at(-1);
  return isWhole && declarator.id.type === 'Identifier' ? declarator.id.name : undefined;
}

function readDefault(node: t.ExportDefaultDeclaration): Exported {
  const value = unwrap(node.declaration);
  const local = value.type === 'Identifier' ? value.name : 'id' in value && value.id ? nameOf(value.id) : null;
  return { name: 'default', local, node: node.declaration };
}

function readDeclaration(node: t.Declaration): Exported[] {
  if (node.type === 'VariableDeclaration') {
    return node.declarations.flatMap((one) =>
      patternNames(one.id).map(({ name }) => ({ name, local: name, node: one })),
    );
  }
  const isValue = node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration';
  return isValue && node.id ? [{ name: node.id.name, local: node.id.name, node }] : [];
}

function readSpecifiers(node: t.ExportNamedDeclaration): Exported[] {
  return node.specifiers.flatMap((one) => {
    if (one.type === 'ExportSpecifier' && one.exportKind === 'type') return [];
    const local = one.type === 'ExportSpecifier' && !node.source ? one.local.name : null;
    return [{ name: nameOf(one.exported), local, node: one }];
  });
}

function nameOf(node: Node): string {
  return node.type === 'Identifier' ? node.name : (literalText(node) ?? '');
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
