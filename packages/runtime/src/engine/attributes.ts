import { currentContext } from './context.ts';

export type Attributes = Record<string, string | number | boolean>;

/**
 * Marks the run with names and values that lists show and filters find. Later values win; at most 50 names of up to 100
 * characters, with texts of up to 1,000. Works in a workflow body and in its steps.
 */
export function setAttributes(attributes: Attributes): void {
  const context = currentContext();
  if (!context) throw new Error('setAttributes() works in a workflow or one of its steps.');
  for (const [name, value] of Object.entries(attributes)) checkAttribute(name, value);
  context.execution.setAttributes(attributes);
}

/** All marks of a run. Throws when they are too many. */
export function checkAttributes(attributes: Attributes): Attributes {
  const count = Object.keys(attributes).length;
  if (count <= MAX_NAMES) return attributes;
  throw new RangeError(`The run would have ${count} attributes; it may have ${MAX_NAMES}. Put the rest in its output.`);
}

// --- internal ---

const MAX_NAMES = 50;
const MAX_NAME = 100;
const MAX_TEXT = 1_000;

function checkAttribute(name: string, value: unknown): void {
  if (name.startsWith('svc.'))
    throw new RangeError(`The attribute name "${name}" begins with "svc.": those are the box's own. Take another.`);
  if (name.length > MAX_NAME)
    throw new RangeError(`The attribute name "${name.slice(0, 30)}…" is longer than ${MAX_NAME} characters.`);
  if (typeof value === 'string' && value.length > MAX_TEXT)
    throw new RangeError(`The attribute "${name}" is longer than ${MAX_TEXT} characters. Put the text in the output.`);
  if (!['string', 'boolean'].includes(typeof value) && !Number.isFinite(value))
    throw new TypeError(`The attribute "${name}" must be a string, a finite number or a boolean.`);
}
