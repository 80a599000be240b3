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
  const path = bytes === undefined ? root + lookAt(value, limit).path : pathOfLargest(value, root);
  const message = `${tooLarge(what, { bytes, limit, part: partOf(path, root) })} Store it elsewhere and return a reference.`;
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
  const path = bytes === undefined ? root + lookAt(value, limit).path : pathOfLargest(value, root);
  const message = `${tooLarge(what, { bytes, limit, part: partOf(path, root) })} Store it elsewhere and hand on a reference.`;
  const error = new BoxError('payload_too_large', message, { details: { path, bytes: bytes ?? limit + 1, limit } });
  // The same again would be as large.
  return Object.assign(error, { fatal: true });
}

/**
 * Whether the text of a value is larger than `limit` for sure, by a look that ends as soon as that is known: to write many
 * small parts and find it afterwards would hold the event loop for seconds. What is written in no time, a long text, counts by
 * half: up to twice the limit it is measured, and its size can be said. False: it is to be written to know.
 */
export function isSurelyLarger(value: unknown, limit: number): boolean {
  return lookAt(value, limit).sum > limit;
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
const FEW = 16;
const DEEP = 100;

interface Look {
  sum: number;
  readonly limit: number;
  /** A list is the faster one of few. */
  seen: unknown[] | Set<unknown>;
  depth: number;
  /** What lies too deep to be looked at where it stands. */
  readonly open: object[];
  /** Where most of what has been counted is, once that is over the limit. */
  path: string;
}

/**
 * What the text of the value has at least, counted no further than to the first part that takes it over the limit. Records
 * are known by it (`run/arguments.ts`): what is over a limit once must not be found within it by a later release.
 */
function lookAt(value: unknown, limit: number): Look {
  const look: Look = { sum: 0, limit, seen: [], depth: 0, open: [], path: '' };
  try {
    count(value, look);
    for (let at = look.open.pop(); at !== undefined && look.sum <= limit; at = look.open.pop()) {
      countParts(at, look);
      look.path = '';
    }
  } catch {
    // A property that throws when it is read, or a proxy that refuses.
    look.sum = 0;
  }
  return look;
}

function count(part: unknown, look: Look): void {
  look.sum += LEAST;
  const isText = typeof part === 'string';
  if (isText ? part.length <= SHORT_TEXT : typeof part !== 'object' || part === null) return;
  if (!isNew(part, look)) return;
  if (isText) return void (look.sum += part.length > LONG_TEXT ? part.length / 2 : part.length);
  if (look.depth >= DEEP) return void look.open.push(part as object);
  look.depth += 1;
  countParts(part as object, look);
  look.depth -= 1;
}

function countParts(at: object, look: Look): void {
  if (Array.isArray(at)) return countItems(at, look);
  if (at instanceof Map || at instanceof Set) {
    if (at.size > (look.limit - look.sum) / LEAST) look.sum += at.size * LEAST;
    else for (const part of at instanceof Map ? [...at].flat() : at) count(part, look);
    look.path = '';
    return;
  }
  if (ArrayBuffer.isView(at) || at instanceof ArrayBuffer) return countBytes(at, look);
  const prototype = Object.getPrototypeOf(at) as unknown;
  if (prototype !== Object.prototype && prototype !== null) return;
  for (const key of Object.keys(at)) {
    const part = (at as Record<string, unknown>)[key];
    // Left out where there is nothing, as JSON does.
    if (part === undefined) continue;
    look.sum += key.length + LEAST;
    countMember(key, part, look);
    if (look.sum > look.limit) return;
  }
}

function countItems(at: readonly unknown[], look: Look): void {
  const isLong = at.length > (look.limit - look.sum) / LEAST;
  let holes = 0;
  for (let index = 0; index < at.length && holes < MOST_HOLES && look.sum <= look.limit; index++)
    if (index in at) countMember(index, at[index], look);
    else holes += 1;
  if (isLong && holes === 0) look.sum += at.length * LEAST;
}

function countMember(name: string | number, part: unknown, look: Look): void {
  const before = look.sum;
  count(part, look);
  const { sum, limit } = look;
  if (sum > limit && sum - before > limit / 2) look.path = toStep(name) + look.path;
}

/** Views of one buffer may be written as one. */
function countBytes(at: ArrayBufferView | ArrayBuffer, look: Look): void {
  const buffer = ArrayBuffer.isView(at) ? at.buffer : at;
  if (buffer === at || isNew(buffer, look)) look.sum += at.byteLength;
}

function isNew(part: unknown, look: Look): boolean {
  const { seen } = look;
  if (Array.isArray(seen)) {
    if (seen.includes(part)) return false;
    if (seen.length < FEW) seen.push(part);
    else look.seen = new Set(seen).add(part);
    return true;
  }
  const before = seen.size;
  return seen.add(part).size > before;
}

function partOf(path: string, root: string): string | undefined {
  return path === root ? undefined : path;
}

function tooLarge(
  what: string,
  { bytes, limit, part }: { bytes: number | undefined; limit: number; part: string | undefined },
): string {
  const size = bytes ?? `more than ${limit}`;
  const where = part === undefined ? '' : bytes === undefined ? `, much of it "${part}"` : `, most of it "${part}"`;
  return `The ${what} is ${size} bytes${where}; ${limit} may be recorded.`;
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
  if (Array.isArray(value)) return value.map((item, index) => [toStep(index), item]);
  return Object.entries(value).map(([key, item]) => [toStep(key), item]);
}

function toStep(name: string | number): string {
  if (typeof name === 'number') return `[${name}]`;
  return /^[\w$]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
