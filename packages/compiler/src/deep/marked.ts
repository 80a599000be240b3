import type {
  ArrowFunction,
  FunctionDeclaration,
  FunctionExpression,
  MethodDeclaration,
  Node,
  SourceFile,
  Symbol as TypeSymbol,
} from 'ts-morph';
import type { Directive } from '../words.ts';
import type { Morph } from './project.ts';

export type FunctionNode = FunctionDeclaration | FunctionExpression | ArrowFunction | MethodDeclaration;

/** A function of a workspace whose body begins with a directive. */
export interface MarkedNode {
  node: FunctionNode;
  directive: Directive;
  /** Empty: it has none. */
  name: string;
}

/** Every one of a file, in the order they stand. */
export function listMarked(file: SourceFile, morph: Morph): MarkedNode[] {
  return file.getDescendants().flatMap((node) => {
    if (!isFunction(node, morph)) return [];
    const directive = readDirective(node, morph);
    return directive ? [{ node, directive, name: nameOf(node, morph) }] : [];
  });
}

/** The function a call leads to, through imports; undefined: it is none of these. */
export function findCalled(callee: Node, marked: ReadonlyMap<Node, MarkedNode>): MarkedNode | undefined {
  const symbol = callee.getSymbol();
  const target: TypeSymbol | undefined = symbol?.getAliasedSymbol() ?? symbol;
  for (const declaration of target?.getDeclarations() ?? []) {
    const found = marked.get(declaration) ?? marked.get(initializerOf(declaration) ?? declaration);
    if (found) return found;
  }
  return undefined;
}

// --- internal ---

function isFunction(node: Node, { Node: is }: Morph): node is FunctionNode {
  return (
    is.isFunctionDeclaration(node) ||
    is.isFunctionExpression(node) ||
    is.isArrowFunction(node) ||
    is.isMethodDeclaration(node)
  );
}

function readDirective(node: FunctionNode, { Node: is }: Morph): Directive | undefined {
  const body = node.getBody();
  if (!body || !is.isBlock(body)) return undefined;
  for (const statement of body.getStatements()) {
    const expression = is.isExpressionStatement(statement) ? statement.getExpression() : undefined;
    if (!expression || !is.isStringLiteral(expression)) return undefined;
    const text = expression.getLiteralText();
    if (text === 'use step' || text === 'use workflow') return text;
  }
  return undefined;
}

function nameOf(node: FunctionNode, { Node: is }: Morph): string {
  if (!is.isArrowFunction(node) && node.getName() !== undefined) return node.getName() ?? '';
  const parent = node.getParent();
  return is.isVariableDeclaration(parent) || is.isPropertyAssignment(parent) ? parent.getName() : '';
}

/** `const send = async () => {...}`, and `{ send: async () => {...} }`. */
function initializerOf(declaration: Node): Node | undefined {
  return (declaration as Partial<{ getInitializer(): Node | undefined }> & Node).getInitializer?.();
}
