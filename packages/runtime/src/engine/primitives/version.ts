import { currentContext } from '../context.ts';

/**
 * Which version of a change this run has: `newest` where it comes to this place for the first time, 0 where it has been here by
 * code that did not ask. The first answer is recorded with the run, and is the one it has wherever it asks again. Works in the
 * body of a workflow. Throws for a name or a number it does not take, and for the 101st name of a run.
 * @param name 1 to 100 letters, digits and `. _ : / -`
 * @param newest 1 to 1,000. Default 1
 */
export function readVersion(name: string, newest = 1): number {
  const context = currentContext();
  if (!context) throw new Error('There is no run here. Use svc.version in the body of a workflow.');
  if (context.kind === 'step')
    throw new Error('svc.version() works in the body of a workflow. Ask there, and hand the answer to the step.');
  const { run, changes } = context.execution;
  if (run.kind === 'agent')
    throw new Error('svc.version() works in the body of a workflow, not in a turn of an agent.');
  if (typeof name !== 'string' || !NAME.test(name))
    throw new Error('svc.version() takes a name of 1 to 100 letters, digits and the characters . _ : / -');
  if (!Number.isInteger(newest) || newest < 1 || newest > MOST)
    throw new Error(`svc.version("${name}") takes a whole number from 1 to ${MOST} as the newest version.`);
  return changes.versionOf(name, newest);
}

// --- internal ---

const NAME = /^[\w.:/-]{1,100}$/;
const MOST = 1_000;
