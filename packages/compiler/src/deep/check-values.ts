import { relative, sep } from 'node:path';
import type { Problem } from '@svc/runtime/host';
import type { CallExpression, Node, ParameterDeclaration, Type } from 'ts-morph';
import { toProblems } from '../check/frame.ts';
import type { FoundIn } from '../check/frame.ts';
import { createScanner } from '../scan.ts';
import type { Scanner } from '../scan.ts';
import { findCalled, listMarked } from './marked.ts';
import type { MarkedNode } from './marked.ts';
import { openTypes } from './project.ts';
import type { Morph } from './project.ts';
import { findUnrecordable } from './recordable.ts';

export interface CheckValuesOptions {
  root: string;
  scanner?: Scanner | undefined;
}

/**
 * What steps and workflows take and return that the journal cannot keep, by the types of the code. Takes seconds: the
 * declarations of every package that is used are read. What a type leaves open, such as `any`, is not looked at.
 */
export async function checkValues(options: CheckValuesOptions): Promise<Problem[]> {
  const { root, scanner = createScanner({ root }) } = options;
  const files = Object.keys((await scanner.scan()).files).sort();
  const { morph, project } = await openTypes(root, files);
  const sources = files.flatMap((file) => project.getSourceFile(toPath(root, file)) ?? []);
  const marked = new Map<Node, MarkedNode>(
    sources.flatMap((file) => listMarked(file, morph).map((one) => [one.node, one] as const)),
  );
  const found = [
    ...[...marked.values()].flatMap((one) => checkFunction(one)),
    ...sources.flatMap((file) =>
      file.getDescendantsOfKind(morph.SyntaxKind.CallExpression).flatMap((call) => checkCall(call, marked, morph)),
    ),
  ];
  return toProblems(root, found.map((place) => toFoundIn(root, place)).sort(byPlace));
}

// --- internal ---

interface Place {
  at: Node;
  message: string;
}

/** What it declares to take and to return. */
function checkFunction({ node, directive, name }: MarkedNode): Place[] {
  const what = describe(directive, name);
  const taken = node.getParameters().flatMap((parameter, index) => {
    const unrecordable = findUnrecordable(parameter.getType(), parameter);
    return unrecordable
      ? [toPlace(parameter, `${nameOf(parameter, index)}${unrecordable.path}`, { what, unrecordable })]
      : [];
  });
  const returned = awaited(node.getReturnType());
  const unrecordable = findUnrecordable(returned, node);
  if (!unrecordable) return taken;
  const at = node.getReturnTypeNode() ?? node;
  return [...taken, toPlace(at, `result${unrecordable.path}`, { what, unrecordable })];
}

/** What a call hands over where the step itself declares less: `unknown`, or an interface a class fits. */
function checkCall(call: CallExpression, marked: ReadonlyMap<Node, MarkedNode>, morph: Morph): Place[] {
  const called = findCalled(call.getExpression(), marked);
  if (!called) return [];
  const parameters = called.node.getParameters();
  return call.getArguments().flatMap((argument, index) => {
    const parameter = parameters[index];
    const isDeclared = parameter && findUnrecordable(parameter.getType(), parameter) !== undefined;
    if (isDeclared || morph.Node.isSpreadElement(argument)) return [];
    const unrecordable = findUnrecordable(argument.getType(), argument);
    if (!unrecordable) return [];
    const name = parameter ? nameOf(parameter, index) : `argument ${index + 1}`;
    const what = describe(called.directive, called.name);
    return [toPlace(argument, `${name}${unrecordable.path}`, { what, unrecordable })];
  });
}

interface Said {
  what: string;
  unrecordable: { reason: string };
}

function toPlace(at: Node, path: string, { what, unrecordable }: Said): Place {
  const advice = 'Pass plain data, or make the value inside the step that uses it';
  return { at, message: `"${path}" of ${what} cannot be recorded: ${unrecordable.reason}. ${advice}.` };
}

function describe(directive: MarkedNode['directive'], name: string): string {
  const kind = directive === 'use step' ? 'step' : 'workflow';
  return name === '' ? `a ${kind}` : `the ${kind} "${name}"`;
}

function nameOf(parameter: ParameterDeclaration, index: number): string {
  const text = parameter.getName();
  return /^[\w$]+$/.test(text) ? text : `argument ${index + 1}`;
}

/** What `await` gives of a marked function, which is async. */
function awaited(type: Type): Type {
  const [value] = type.getSymbol()?.getName() === 'Promise' ? type.getTypeArguments() : [];
  return value ?? type;
}

function toFoundIn(root: string, { at, message }: Place): FoundIn {
  const source = at.getSourceFile();
  const { line, column } = source.getLineAndColumnAtPos(at.getStart());
  const file = relative(root, source.getFilePath()).split(sep).join('/');
  return { code: 'value_not_recordable', message, file, line, column };
}

function toPath(root: string, file: string): string {
  return `${root.split(sep).join('/')}/${file}`;
}

function byPlace(a: FoundIn, b: FoundIn): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}
