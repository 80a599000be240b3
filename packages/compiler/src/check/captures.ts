import { positionOf } from '../ast.ts';
import { findCaptures, isInner } from '../captures.ts';
import type { Captures, Refusal } from '../captures.ts';
import type { Finding } from '../finding.ts';
import type { MarkedFunction } from '../functions.ts';
import type { Names } from '../scope.ts';

/** What a step inside of a function uses of it goes along with each call, recorded; not everything can. */
export function checkCaptures(marked: MarkedFunction[], names: () => Names): Finding[] {
  return marked.filter(isInner).flatMap((step) => {
    const { refused } = findCaptures(step, marked, names());
    return refused.map((one) => toFinding(step, one));
  });
}

// --- internal ---

const ADVICE: Record<Refusal, string> = {
  assigned: 'It has a copy, so what it assigns is lost: return the value instead.',
  function: 'A function cannot be recorded: move it to the top of the module, into the step, or make it a step.',
  class: 'A class cannot be recorded: move it to the top of the module.',
  this: 'A step may run in another process after a restart, where that does not exist: pass it as an argument.',
  bound: 'A step may run in another process after a restart, where that does not exist: pass it as an argument.',
};

function toFinding(step: MarkedFunction, { name, why, node }: Captures['refused'][number]): Finding {
  const what = step.path ? `The step "${step.path}"` : 'This step';
  const does = why === 'assigned' ? 'assigns' : 'uses';
  const message = `${what} ${does} "${name}" of the function around it. ${ADVICE[why]}`;
  return { code: 'step_captures_scope', message, ...positionOf(node) };
}
