import { currentContext } from './context.ts';

/** The mark of a run that only the person who asked for it may see, and owners and admins: its value is the caller's id. */
export const ASKED_BY = 'svc.asked_by';

/** The mark of a run whose tokens count for others than its agent: who that is, with spaces between. */
export const CHARGED_TO = 'svc.charged_to';

/** The mark of a run that was started with an id of its creator's choice. */
export const OWN_ID = 'svc.id';

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

/** Who asked for a run that not everybody may see. Undefined: a run like any other. */
export function askedByOf({ attributes }: { attributes: string | null }): string | undefined {
  if (!attributes?.includes(ASKED_BY)) return undefined;
  return (JSON.parse(attributes) as Record<string, string | undefined>)[ASKED_BY];
}

/** For whom the tokens of the run count, besides its agent. */
export function chargedTo({ attributes }: { attributes: string | null }): string[] {
  if (!attributes?.includes(CHARGED_TO)) return [];
  return (JSON.parse(attributes) as Record<string, string | undefined>)[CHARGED_TO]?.split(' ') ?? [];
}

export function toChargedMark(charged: readonly string[]): Record<string, string> {
  return charged.length > 0 ? { [CHARGED_TO]: charged.join(' ') } : {};
}

/** The id its creator chose. Undefined: it has none. */
export function ownIdOf({ attributes }: { attributes: string | null }): string | undefined {
  if (!attributes?.includes(OWN_ID)) return undefined;
  return (JSON.parse(attributes) as Record<string, string | undefined>)[OWN_ID];
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
