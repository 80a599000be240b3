import type { types as t } from '@babel/core';
import { forEachChild, isFunction, isInside, positionOf } from '../ast.ts';
import type { Node } from '../ast.ts';
import type { Finding } from '../finding.ts';
import { isWorkflow } from '../functions.ts';
import type { MarkedFunction } from '../functions.ts';
import { resolveReferences } from '../scope.ts';
import type { Reference } from '../scope.ts';

/** A workflow body runs again on every replay, so it may not assign what the module holds, nor may a function it reaches. */
export function checkModuleState(program: t.Program, marked: MarkedFunction[]): Finding[] {
  const workflows = marked.filter(isWorkflow);
  if (workflows.length === 0 || !program.body.some(declaresVariable)) return [];
  const references = resolveReferences(program);
  const steps = marked.filter((one) => !isWorkflow(one)).map(({ node }) => node);
  const findings = new Map<Node, Finding>();
  for (const { node, path } of workflows) {
    for (const reached of reach({ node, chain: [path ?? 'default'] }, references, steps)) {
      for (const write of writesIn(reached.node, references, steps)) {
        if (!findings.has(write.node)) findings.set(write.node, toFinding(write, reached.chain));
      }
    }
  }
  return [...findings.values()];
}

// --- internal ---

interface Reached {
  node: Node;
  /** The names from the workflow down to here. */
  chain: string[];
}

function declaresVariable(statement: Node): boolean {
  const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
  return node?.type === 'VariableDeclaration' && node.kind !== 'const';
}

/** The workflow's body and every module-level function it names, directly or through another, steps excepted. */
function reach(start: Reached, references: Reference[], steps: Node[]): Reached[] {
  const reached = [start];
  const seen = new Set<Node>([start.node]);
  for (const from of reached) {
    for (const { name, node, binding } of references) {
      if (!binding || binding.scope.parent || !runsIn(node, from.node, steps)) continue;
      for (const callee of functionsOf(binding.node)) {
        if (seen.has(callee)) continue;
        seen.add(callee);
        reached.push({ node: callee, chain: [...from.chain, name] });
      }
    }
  }
  return reached;
}

function writesIn(body: Node, references: Reference[], steps: Node[]): Reference[] {
  return references.filter(
    ({ node, binding, isWrite }) => isWrite && binding && !binding.scope.parent && runsIn(node, body, steps),
  );
}

function runsIn(node: Node, body: Node, steps: Node[]): boolean {
  return isInside(node, body) && !steps.some((step) => isInside(node, step));
}

/** The outermost functions of a declaration: itself, a variable's value, the methods of an object or a class. */
function functionsOf(node: Node): Node[] {
  if (isFunction(node)) return [node];
  const found: Node[] = [];
  forEachChild(node, (child) => found.push(...functionsOf(child)));
  return found;
}

function toFinding({ name, node }: Reference, chain: string[]): Finding {
  const through = chain.length > 1 ? ` (${chain.join(' -> ')})` : '';
  const message = `"${name}" belongs to the module and is assigned in the body of the workflow "${chain[0]}"${through}. A replay runs the body again, so the value would differ: keep it in a local variable, or return it from a step.`;
  return { code: 'workflow_module_state', message, ...positionOf(node) };
}
