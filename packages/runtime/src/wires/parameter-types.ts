import { BoxError } from '../errors.ts';

type Kind = 'boolean' | 'number' | 'integer';

/** What members of a request are, by name. */
export type ParameterTypes = Readonly<Record<string, Kind>>;

/**
 * Throws `invalid_request` with the name of the first member that is of another type: the request would silently be
 * another one, or the provider would refuse it. Null is as good as left out; ranges are the provider's.
 */
export function checkParameterTypes(request: object, types: ParameterTypes): void {
  for (const [name, kind] of Object.entries(types)) {
    const value = (request as Record<string, unknown>)[name];
    if (value === undefined || value === null || IS[kind](value)) continue;
    throw new BoxError('invalid_request', `"${name}" is ${show(value)}; it must be ${WORDS[kind]}.`, {
      details: { param: name },
    });
  }
}

// --- internal ---

const IS: Record<Kind, (value: unknown) => boolean> = {
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
};

const WORDS: Record<Kind, string> = {
  boolean: 'true or false',
  number: 'a number',
  integer: 'a whole number',
};

const MOST_SHOWN = 60;

/** Of a caller's value no more than a line. */
function show(value: unknown): string {
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  return typeof value === 'string' ? JSON.stringify(value.slice(0, MOST_SHOWN)) : String(value);
}
