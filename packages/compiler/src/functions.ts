import type { types as t } from '@babel/core';
import { forEachChild, isFunction, keyName, literalText, memberPath, patternNames } from './ast.ts';
import type { FunctionNode, Node, Slot } from './ast.ts';
import { matchDirective } from './words.ts';
import type { Directive } from './words.ts';

/** A function whose body begins with a directive. */
export interface MarkedFunction {
  node: FunctionNode;
  directives: { directive: Directive; node: t.Directive }[];
  /** `send`, `mailer.send`, `outer.inner`: unique in a file when its author gave it a name. Undefined: it has none. */
  path: string | undefined;
  /** From the program down to the function itself. */
  slots: Slot[];
  /** The functions around it, outermost first. */
  enclosing: FunctionNode[];
}

/** A string that stands where a statement does and is, or was meant to be, a directive. */
export interface DirectiveString {
  text: string;
  directive: Directive;
  exact: boolean;
  place: 'body' | 'module' | 'statement' | 'template';
  node: Node;
}

export interface FoundFunctions {
  marked: MarkedFunction[];
  strings: DirectiveString[];
  /** Relative specifiers of `import('./x')`. */
  dynamicImports: string[];
  /** Names of variables, whatever their scope: enough to see that a file is worth a closer look. */
  names: { used: Set<string>; declared: Set<string> };
}

/** Finds every directive of a file. The scan and the transform both stand on it, so they agree on every id. */
export function findFunctions(program: t.Program): FoundFunctions {
  const found: FoundFunctions = {
    marked: [],
    strings: [],
    dynamicImports: [],
    names: { used: new Set(), declared: new Set() },
  };
  for (const directive of program.directives) addString(found, directive.value.value, 'module', directive);
  const state: Walk = { found, slots: [], names: [], enclosing: [] };
  forEachChild(program, (child, key, index) => enter(state, { parent: program, key, index, node: child }));
  return found;
}

/** The path that stands in a step's id. A step without a name is a problem; the transform still has to call it something. */
export function stepName(marked: MarkedFunction): string {
  return marked.path ?? 'anonymous';
}

/** `get total() { 'use step'; ... }` of a class: reading it calls the step. */
export function isGetterStep({ node, directives }: MarkedFunction): boolean {
  return node.type === 'ClassMethod' && node.kind === 'get' && directives[0]?.directive === 'use step';
}

export function isWorkflow(marked: MarkedFunction): boolean {
  return marked.directives.some(({ directive }) => directive === 'use workflow');
}

// --- internal ---

interface Name {
  text: string;
  /** A function or class bears it: an unnamed function further inside does not. */
  taken: boolean;
}

interface Walk {
  found: FoundFunctions;
  slots: Slot[];
  names: Name[];
  enclosing: FunctionNode[];
}

function enter(state: Walk, slot: Slot): void {
  const { node } = slot;
  if (node.type === 'Identifier') return readName(state, slot, node);
  const named = state.names.length;
  if (node.type === 'ExpressionStatement') readStatement(state, node);
  if (node.type === 'CallExpression') readDynamicImport(state, node);
  const name = nameGivenBy(node);
  if (name !== undefined) for (const text of name.split('.')) state.names.push({ text, taken: false });
  declarePattern(state, node);
  state.slots.push(slot);
  if (isFunction(node)) enterFunction(state, node);
  else {
    if (node.type.startsWith('Class') && 'superClass' in node) takeName(state, node.id);
    enterChildren(state, node);
  }
  state.slots.pop();
  state.names.length = named;
}

/** Keys under which an identifier is no use of a variable, unless the key is computed. */
const LABELS = new Set(['property', 'key', 'imported', 'exported', 'label', 'meta']);

function readName({ found }: Walk, { parent, key }: Slot, { name }: t.Identifier): void {
  if (key === 'id' || key === 'local') found.names.declared.add(name);
  else if (!LABELS.has(key) || ('computed' in parent && parent.computed)) found.names.used.add(name);
}

function declarePattern({ found }: Walk, node: Node): void {
  const patterns =
    node.type === 'VariableDeclarator'
      ? [node.id]
      : node.type === 'CatchClause'
        ? [node.param]
        : isFunction(node)
          ? node.params
          : [];
  for (const pattern of patterns) for (const { name } of patternNames(pattern)) found.names.declared.add(name);
}

function enterChildren(state: Walk, node: Node): void {
  forEachChild(node, (child, key, index) => enter(state, { parent: node, key, index, node: child }));
}

function enterFunction(state: Walk, node: FunctionNode): void {
  const isNamed = takeName(state, 'id' in node ? node.id : undefined);
  const directives = readDirectives(state, node);
  if (directives.length > 0) {
    const path = isNamed ? state.names.map(({ text }) => text).join('.') : undefined;
    state.found.marked.push({ node, directives, path, slots: [...state.slots], enclosing: [...state.enclosing] });
  }
  state.enclosing.push(node);
  enterChildren(state, node);
  state.enclosing.pop();
}

/** A function bears the nearest free name around it, else its own. False: there is neither. */
function takeName(state: Walk, id: t.Identifier | null | undefined): boolean {
  const free = state.names.at(-1);
  if (free && !free.taken) {
    free.taken = true;
    return true;
  }
  if (!id) return false;
  state.names.push({ text: id.name, taken: true });
  return true;
}

function nameGivenBy(node: Node): string | undefined {
  switch (node.type) {
    case 'VariableDeclarator':
      return node.id.type === 'Identifier' ? node.id.name : undefined;
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return node.id?.name;
    case 'ObjectProperty':
    case 'ObjectMethod':
    case 'ClassMethod':
    case 'ClassProperty':
    case 'ClassPrivateMethod':
    case 'ClassPrivateProperty':
      return plainKey(node);
    case 'ExportDefaultDeclaration':
      return 'id' in node.declaration && node.declaration.id ? undefined : 'default';
    case 'AssignmentExpression':
      return memberPath(node.left);
    case 'AssignmentPattern':
      return patternNames(node.left).length === 1 ? memberPath(node.left) : undefined;
    default:
      return undefined;
  }
}

/** A step's id is cut at `#` and its path at `.`, so a quoted key may hold neither. */
function plainKey(node: { key: Node; computed?: boolean | null }): string | undefined {
  const name = keyName(node);
  return node.key.type === 'StringLiteral' ? name?.replace(/[.#]/g, '_') : name;
}

function readDirectives(state: Walk, node: FunctionNode): MarkedFunction['directives'] {
  if (node.body.type !== 'BlockStatement') return [];
  const marks: MarkedFunction['directives'] = [];
  for (const directive of node.body.directives) {
    const match = addString(state.found, directive.value.value, 'body', directive);
    if (match?.exact) marks.push({ directive: match.directive, node: directive });
  }
  return marks;
}

function readStatement(state: Walk, node: t.ExpressionStatement): void {
  const text = literalText(node.expression);
  if (text === undefined) return;
  const atModule = state.slots.length === 0;
  const place = node.expression.type === 'TemplateLiteral' ? 'template' : atModule ? 'module' : 'statement';
  addString(state.found, text, place, node);
}

function addString(found: FoundFunctions, text: string, place: DirectiveString['place'], node: Node) {
  const match = matchDirective(text);
  if (match) found.strings.push({ text, ...match, place, node });
  return match;
}

function readDynamicImport(state: Walk, node: t.CallExpression): void {
  const specifier = node.callee.type === 'Import' ? literalText(node.arguments[0]) : undefined;
  if (specifier?.startsWith('.')) state.found.dynamicImports.push(specifier);
}
