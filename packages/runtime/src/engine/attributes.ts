import { currentContext } from './context.ts';

/**
 * Marks the run with names and values that lists show and filters find. Later values win; at most 50 names.
 * Works in a workflow body and in its steps.
 */
export function setAttributes(attributes: Record<string, string | number | boolean>): void {
  const context = currentContext();
  if (!context) throw new Error('setAttributes() works in a workflow or one of its steps.');
  for (const [name, value] of Object.entries(attributes))
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw new TypeError(`The attribute "${name}" must be a string, a number or a boolean.`);
  context.execution.setAttributes(attributes);
}
