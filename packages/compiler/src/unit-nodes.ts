import type { types as t } from '@babel/core';
import { isFunction, keyName, unwrap } from './ast.ts';
import type { Node } from './ast.ts';
import { isWorkflow } from './functions.ts';
import type { MarkedFunction } from './functions.ts';

/** The code that runs when one function of the module is called. */
export interface Unit {
  name: string;
  nodes: Node[];
  /** What `this` is in it: an object or a class of the module. */
  owner?: string;
  parentClass?: Node;
  isBody?: boolean;
}

/** The functions of a module that have a name to be called by, and its workflow bodies; steps are left out. */
export function listUnits(program: t.Program, marked: MarkedFunction[]): Unit[] {
  const workflows = new Set<Node>(marked.filter(isWorkflow).map(({ node }) => node));
  const steps = new Set<Node>(marked.filter((one) => !isWorkflow(one)).map(({ node }) => node));
  const units = program.body.flatMap((statement) => {
    const node = declarationOf(statement);
    if (!node) return [];
    if (node.type === 'VariableDeclaration') return node.declarations.flatMap(unitsOfVariable);
    const name = 'id' in node && node.id?.type === 'Identifier' ? node.id.name : 'default';
    const isNamed = name !== 'default' || statement.type === 'ExportDefaultDeclaration';
    return isNamed ? unitsOf(name, unwrap(node)) : [];
  });
  const known = new Set(units.flatMap(({ nodes }) => nodes));
  for (const node of workflows) if (!known.has(node)) units.push({ name: 'default', nodes: [node] });
  return units
    .filter(({ nodes }) => !nodes.some((node) => steps.has(node)))
    .map((unit) => ({ ...unit, isBody: unit.nodes.some((node) => workflows.has(node)) }));
}

/** What a statement declares, exported or not. */
export function declarationOf(statement: Node): Node | null | undefined {
  const isExport = statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration';
  return isExport ? statement.declaration : statement;
}

// --- internal ---

function unitsOfVariable({ id, init }: t.VariableDeclarator): Unit[] {
  return id.type === 'Identifier' && init ? unitsOf(id.name, unwrap(init)) : [];
}

function unitsOf(name: string, value: Node): Unit[] {
  if (isFunction(value)) return [{ name, nodes: [value] }];
  if (value.type === 'ClassDeclaration' || value.type === 'ClassExpression') return unitsOfClass(name, value);
  if (value.type !== 'ObjectExpression') return [];
  return value.properties.flatMap((property) => {
    const key = property.type === 'SpreadElement' ? undefined : keyName(property);
    if (property.type === 'SpreadElement' || key === undefined) return [];
    const path = `${name}.${key}`;
    if (property.type === 'ObjectMethod') return [{ name: path, nodes: [property], owner: name }];
    return unitsOf(path, unwrap(property.value)).map((unit) => ({ owner: name, ...unit }));
  });
}

function unitsOfClass(name: string, node: t.ClassDeclaration | t.ClassExpression): Unit[] {
  const created: Unit = { name, nodes: [], owner: name, ...(node.superClass && { parentClass: node.superClass }) };
  const units = [created];
  for (const member of node.body.body) {
    if (!('key' in member)) continue;
    const value = 'value' in member && member.value ? unwrap(member.value as Node) : undefined;
    const body = isFunction(member) ? member : value && isFunction(value) ? value : undefined;
    const key = keyName({ key: member.key as Node, computed: 'computed' in member ? (member.computed ?? null) : null });
    const isConstructor = member.type === 'ClassMethod' && member.kind === 'constructor';
    if (isConstructor || (!body && value && !member.static))
      created.nodes.push(isConstructor ? member : (value as Node));
    else if (body && key !== undefined) units.push({ name: `${name}.${key}`, nodes: [body], owner: name });
  }
  return units;
}
