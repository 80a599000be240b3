import type { types as t } from '@babel/core';
import { unwrap } from './ast.ts';
import type { Node } from './ast.ts';
import { isWorkflow } from './functions.ts';
import type { MarkedFunction } from './functions.ts';
import { createOrigins, under } from './origins.ts';
import type { Origins } from './origins.ts';
import { mayCallRefused } from './replay-table.ts';
import type { Names } from './scope.ts';
import type { Exported, ReplayFacts, UnitFacts } from './replay-facts.ts';
import type { Target } from './replay-table.ts';
import { findStates } from './states.ts';
import type { StateKind } from './states.ts';
import { readUnit } from './unit-effects.ts';
import { declarationOf, listUnits } from './unit-nodes.ts';

export interface UnitsOptions {
  code: string;
  program: t.Program;
  marked: MarkedFunction[];
  exported: Exported[];
  /** What resolves them, once someone asks. */
  names(): Names;
}

/** Undefined: nothing in this file can matter to a replay. */
export function findUnits({ code, program, marked, exported, names }: UnitsOptions): ReplayFacts | undefined {
  const states = findStates(program);
  const shared = listShared(program);
  const more = shared.length > 0 ? { shared } : {};
  if (!marked.some(isWorkflow) && !mayMatter(code, program, states))
    return shared.length > 0 ? { units: [], exported: {}, states, ...more } : undefined;
  const found = listUnits(program, marked);
  const origins = createOrigins(names());
  const steps = new Set<Node>(marked.filter((one) => !isWorkflow(one)).map(({ node }) => node));
  const context = {
    origins,
    states,
    steps,
    names: new Set(found.map(({ name }) => name)),
    replaced: new Set<string>(),
  };
  const units = found.map((unit) => readUnit(unit, context)).map((unit) => dropReplaced(unit, context.replaced));
  return {
    units: units.filter(isOfUse),
    exported: readTargets(program, exported, origins),
    states,
    ...more,
  };
}

// --- internal ---

function isOfUse({ isWorkflow: isBody, calls, writes, dropped, handed, loads }: UnitFacts): boolean {
  return isBody === true || calls.length > 0 || writes.length > 0 || [dropped, handed, loads].some(Boolean);
}

/** A constant that is written out, or is a function, holds nothing that runs could wait in. */
function listShared(program: t.Program): string[] {
  return program.body.flatMap((statement) => {
    const node = declarationOf(statement);
    if (node?.type !== 'VariableDeclaration') return [];
    return node.declarations.flatMap(({ id, init }) =>
      id.type === 'Identifier' && init && MADE.has(unwrap(init).type) ? [id.name] : [],
    );
  });
}

const MADE = new Set(['CallExpression', 'NewExpression', 'AwaitExpression']);

const RELATIVE = /['"]\.{1,2}\//;

/** Most files call nothing of the table, import nothing beside them and hold nothing that changes. */
function mayMatter(code: string, program: t.Program, states: Record<string, StateKind>): boolean {
  if (Object.keys(states).length > 0 || mayCallRefused(code) || RELATIVE.test(code)) return true;
  return program.body.some((statement) => {
    const node = declarationOf(statement);
    return node?.type === 'VariableDeclaration' && node.kind !== 'const';
  });
}

function dropReplaced(unit: UnitFacts, replaced: Set<string>): UnitFacts {
  if (replaced.size === 0) return unit;
  const calls = unit.calls.filter(({ target }) => target.from !== 'globalThis' || !replaced.has(target.path));
  return { ...unit, calls };
}

/** Where exports lead, unless to the function of the same name in this module. */
function readTargets(program: t.Program, exported: Exported[], origins: Origins): Record<string, Target> {
  const targets: Record<string, Target> = {};
  for (const { name, local, node } of exported) {
    const target = local === null ? ofExpression(node, origins) : (origins.ofName(local) ?? { path: local });
    if (target && !(target.from === undefined && target.path === name)) targets[name] = target;
  }
  for (const node of program.body) {
    if (node.type !== 'ExportNamedDeclaration' || !node.source || node.exportKind === 'type') continue;
    for (const one of node.specifiers) {
      const path = one.type === 'ExportSpecifier' ? one.local.name : '';
      const name = one.exported.type === 'Identifier' ? one.exported.name : one.exported.value;
      targets[name] = under({ from: node.source.value, path: '' }, path);
    }
  }
  return targets;
}

function ofExpression(node: Node, origins: Origins): Target | undefined {
  return node.type === 'ExportSpecifier' ? undefined : origins.of(node);
}
