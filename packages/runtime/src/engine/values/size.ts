import { BoxError } from '../../errors.ts';

/** Bytes of one value in the journal that code makes: a result, an error, a frame. */
export const VALUE_BYTES = 1_048_576;

/**
 * Of what code or a caller hands over: an input, a payload, metadata. A request of 1 MiB is always within it: as the
 * journal writes it, it may be six times as long.
 */
export const GIVEN_BYTES = 8 * VALUE_BYTES;

/** Of a call's arguments beyond that: what was given may be handed on, in the frame it is recorded with then. */
export const FRAME_BYTES = 1_024;

/** Of what a turn is started with: the conversation, in which images may be. A wire reads no larger request. */
export const TURN_BYTES = 40 * VALUE_BYTES;

/** Of a value that is kept in object storage, where there is one: of a run that is no turn, whatever kind of value it is. */
export const LARGE_BYTES = 64 * VALUE_BYTES;

/** Characters of a value from which on it is kept there. What is smaller is read with the rest of its record. */
export const LARGE_FROM = 65_536;

/** What is recorded, its encoding, and what it is called in an error. */
export interface Bounded {
  value: unknown;
  /** As in "The result". */
  what: string;
  /** As a path begins. Default: `what`. */
  root?: string;
  limit?: number;
}

/** Answers the encoded value. Throws the code `result_too_large` when it is larger than may be recorded. */
export function boundValue(text: string, { value, what, root = what, limit = VALUE_BYTES }: Bounded): string {
  const bytes = sizeOf(text, limit);
  if (bytes <= limit) return text;
  throw tooLargeResult({ value, what, root, limit }, bytes);
}

/** What `boundValue` throws, of a value with so many bytes; without them, of one that is larger than it may be for sure. */
export function tooLargeResult({ value, what, root = what, limit = VALUE_BYTES }: Bounded, bytes?: number): Error {
  const path = bytes === undefined ? root : pathOfLargest(value, root);
  const message = `${tooLarge(what, { bytes, limit, path })} Store it elsewhere and return a reference.`;
  const given = { code: 'result_too_large', fatal: true, path, bytes: bytes ?? limit + 1, limit };
  return Object.assign(new Error(message), given);
}

/** The same of what code or a caller hands over, such as an input: the code is `payload_too_large`. */
export function boundGiven(text: string, { limit = GIVEN_BYTES, ...given }: Bounded): string {
  const refused = refusalOf(text, { limit, ...given });
  if (refused) throw refused;
  return text;
}

/** What `boundGiven` throws. Undefined: the value is not too large. */
export function refusalOf(
  text: string,
  { value, what, root = what, limit = GIVEN_BYTES }: Bounded,
): BoxError | undefined {
  const bytes = sizeOf(text, limit);
  return bytes <= limit ? undefined : tooLargeGiven({ value, what, root, limit }, bytes);
}

/** What `boundGiven` throws, of a value with so many bytes; without them, of one that is larger than it may be for sure. */
export function tooLargeGiven({ value, what, root = what, limit = GIVEN_BYTES }: Bounded, bytes?: number): BoxError {
  const path = bytes === undefined ? root : pathOfLargest(value, root);
  const message = `${tooLarge(what, { bytes, limit, path })} Store it elsewhere and hand on a reference.`;
  const error = new BoxError('payload_too_large', message, { details: { path, bytes: bytes ?? limit + 1, limit } });
  // The same again would be as large.
  return Object.assign(error, { fatal: true });
}

/**
 * Whether the text of a value is larger than `limit` for sure, by a look that ends as soon as that is known: to write many
 * small parts and find it afterwards would hold the event loop for seconds. What is written in no time, such as a long
 * text, may be left out of it. False: it is to be written to know.
 */
export function isSurelyLarger(value: unknown, limit: number, longest = LONG_TEXT): boolean {
  if (typeof value !== 'object' && typeof value !== 'string') return false;
  try {
    return addsUpTo(value, limit, longest);
  } catch {
    // A property that throws when it is read, or a proxy that refuses.
    return false;
  }
}

/** The bytes of a text; where it is surely no more than `limit`, its length will do. */
export function sizeOf(text: string, limit: number): number {
  return text.length * 3 <= limit ? text.length : Buffer.byteLength(text);
}

// --- internal ---

const LONG_TEXT = 10_000;
/** A part takes a comma and a digit at least, wherever its value stands. */
const LEAST = 2;
/** A text may stand once for all that are the same; one as short as this is hardly longer than the number of its place. */
const SHORT_TEXT = 16;
const MOST_HOLES = 10_000;

function addsUpTo(value: unknown, limit: number, longest: number): boolean {
  const seen = new Set<unknown>();
  const open: unknown[] = [value];
  let sum = 0;
  while (open.length > 0 && sum <= limit) {
    const at = open.pop();
    sum += LEAST;
    const isText = typeof at === 'string';
    if (isText ? at.length <= SHORT_TEXT || at.length > longest : typeof at !== 'object' || at === null) continue;
    if (seen.has(at)) continue;
    seen.add(at);
    if (isText) sum += at.length;
    else sum += addParts(at as object, open, (limit - sum) / LEAST);
  }
  return sum > limit;
}

/** Adds what the object holds, no more than enough; answers what its keys take, or all that is beyond. */
function addParts(at: object, open: unknown[], enough: number): number {
  if (Array.isArray(at)) {
    let holes = 0;
    for (let index = 0; index < at.length && index <= enough && holes < MOST_HOLES; index++)
      if (index in at) open.push(at[index]);
      else holes += 1;
    return holes === 0 && at.length > enough ? at.length * LEAST : 0;
  }
  if (at instanceof Map || at instanceof Set) {
    if (at.size > enough) return at.size * LEAST;
    for (const part of at instanceof Map ? [...at].flat() : at) open.push(part);
    return 0;
  }
  const prototype = Object.getPrototypeOf(at) as unknown;
  if (prototype !== Object.prototype && prototype !== null) return 0;
  let keys = 0;
  for (const [key, part] of Object.entries(at)) {
    // Left out where there is nothing, as JSON does.
    if (part === undefined) continue;
    keys += key.length + LEAST;
    open.push(part);
  }
  return keys;
}

function tooLarge(
  what: string,
  { bytes, limit, path }: { bytes: number | undefined; limit: number; path: string },
): string {
  const where = path === what ? '' : `, most of it "${path}"`;
  return `The ${what} is ${bytes ?? `more than ${limit}`} bytes${where}; ${limit} may be recorded.`;
}

/** The path of the innermost member that most of the value is. */
function pathOfLargest(value: unknown, root: string): string {
  const weights = new Map<object, number>();
  let path = root;
  try {
    for (let at = value; ;) {
      const whole = weightOf(at, weights);
      const member = membersOf(at).find(([, item]) => weightOf(item, weights) > whole / 2);
      if (!member) return path;
      path += member[0];
      at = member[1];
    }
  } catch {
    // A property that throws when it is read again.
    return path;
  }
}

function weightOf(value: unknown, known: Map<object, number>): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return SMALL;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  const weight = known.get(value);
  if (weight !== undefined) return weight;
  // What leads back to itself weighs nothing there.
  known.set(value, 0);
  const inner = value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : undefined;
  const parts = inner ?? Object.values(value);
  const sum = parts.reduce<number>((total, part) => total + weightOf(part, known), SMALL);
  known.set(value, sum);
  return sum;
}

const SMALL = 8;

function membersOf(value: unknown): [step: string, item: unknown][] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  if (Array.isArray(value)) return value.map((item, index) => [`[${index}]`, item]);
  return Object.entries(value).map(([key, item]) => [
    /^[\w$]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
    item,
  ]);
}
