import type { types as t } from '@babel/core';
import { keyName, memberPath, positionOf, unwrap } from './ast.ts';
import type { Node, Position } from './ast.ts';

/**
 * Where the schedules of a workflow stand: of a list that is written out each, of anything else the one place. Assigned to
 * the function, else exported. Undefined: nothing is.
 * @param isOnly what the module exports is for this workflow
 */
export function findSchedulePlaces(
  program: t.Program,
  { path, isOnly }: { path: string | undefined; isOnly: boolean },
): Position[] | undefined {
  const assigned = path === undefined ? undefined : findAssigned(program, `${path}.schedules`);
  const value = assigned ?? (isOnly ? findExported(program) : undefined);
  if (!value) return undefined;
  const list = unwrap(value);
  if (list.type !== 'ArrayExpression' || list.elements.length === 0) return [positionOf(value)];
  return list.elements.map((item) => positionOf(item ? findCron(unwrap(item)) : value));
}

// --- internal ---

function findAssigned(program: t.Program, target: string): Node | undefined {
  for (const node of program.body) {
    const assignment = node.type === 'ExpressionStatement' ? unwrap(node.expression) : undefined;
    if (assignment?.type === 'AssignmentExpression' && memberPath(assignment.left) === target) return assignment.right;
  }
  return undefined;
}

function findExported(program: t.Program): Node | undefined {
  for (const node of program.body) {
    const statement = node.type === 'ExportNamedDeclaration' ? node.declaration : undefined;
    if (statement?.type !== 'VariableDeclaration') continue;
    const found = statement.declarations.find(({ id }) => id.type === 'Identifier' && id.name === 'schedules');
    if (found) return found.init ?? found;
  }
  return undefined;
}

/** The text of the cron, where the schedule is written out. */
function findCron(schedule: Node): Node {
  if (schedule.type !== 'ObjectExpression') return schedule;
  const cron = schedule.properties.find((one) => one.type === 'ObjectProperty' && keyName(one) === 'cron');
  return cron?.type === 'ObjectProperty' ? cron.value : schedule;
}
