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
  const path = pathOfLargest(value, root);
  const message = `${tooLarge(what, { bytes, limit, path })} Store it elsewhere and return a reference.`;
  throw Object.assign(new Error(message), { code: 'result_too_large', fatal: true, path, bytes, limit });
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
  if (bytes <= limit) return undefined;
  const path = pathOfLargest(value, root);
  const message = `${tooLarge(what, { bytes, limit, path })} Store it elsewhere and hand on a reference.`;
  const error = new BoxError('payload_too_large', message, { details: { path, bytes, limit } });
  // The same again would be as large.
  return Object.assign(error, { fatal: true });
}

/** The bytes of a text; where it is surely no more than `limit`, its length will do. */
export function sizeOf(text: string, limit: number): number {
  return text.length * 3 <= limit ? text.length : Buffer.byteLength(text);
}

// --- internal ---

function tooLarge(what: string, { bytes, limit, path }: { bytes: number; limit: number; path: string }): string {
  const where = path === what ? '' : `, most of it "${path}"`;
  return `The ${what} is ${bytes} bytes${where}; ${limit} may be recorded.`;
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
