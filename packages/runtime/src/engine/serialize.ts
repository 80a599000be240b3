import { hash } from 'node:crypto';
import { DevalueError, parse, stringify } from 'devalue';
import type { StringifyOptions } from 'devalue';
import { createErrorCodec } from './values/error-codec.ts';
import { reasonOfInstance, reduceInstance, reviveInstance } from './values/instances.ts';
import type { RecordedValue } from './values/instances.ts';
import { isRef, refToShow } from './values/large-ref.ts';

/** The first character of every encoded value. A reader refuses a format it does not know. */
const FORMAT = '1';
/** What JSON keeps as it is goes as JSON: most values, and in a fraction of the time. */
const JSON_FORMAT = '2';

/** A value that cannot cross the journal. `path` names the place, as in `input.user.socket`. */
export class SerializationError extends Error {
  override readonly name = 'SerializationError';
  readonly code = 'not_serializable';
  readonly path: string;

  constructor(path: string, reason: string) {
    super(`"${path}" cannot be recorded: ${reason}. Pass plain data, or make the value inside the step that uses it.`);
    this.path = path;
  }
}

/**
 * Turns a value into the text the journal keeps: Date, Map, Set, BigInt, RegExp, typed arrays, URL, undefined and
 * Error (`values/error-codec.ts`) survive, and so does what `values/instances.ts` lists; other functions, symbols and other class instances
 * are refused by path.
 * @param root what the value is called in an error: `input`, `result`; empty: its properties speak for themselves
 */
export function encode(value: unknown, root: string): string {
  if (isPlain(value, MAX_PLAIN_OBJECTS)) return JSON_FORMAT + JSON.stringify(value);
  return encodeAny(value, root);
}

/**
 * The same, where no digest of the text is compared with one that an earlier build has recorded: plain data goes as JSON
 * however much it is, in a quarter of the time.
 */
export function encodeUncompared(value: unknown, root: string): string {
  if (isPlain(value, Infinity)) return JSON_FORMAT + JSON.stringify(value);
  return encodeAny(value, root);
}

/** The inverse of `encode`. Of a value in object storage its text has to be read first (`large-values.ts`). */
export function decode(text: string): unknown {
  if (text[0] === JSON_FORMAT) return JSON.parse(text.slice(1));
  if (isRef(text)) throw new Error('The value is in object storage, and has not been read from there.');
  if (text[0] !== FORMAT)
    throw new Error(
      `The journal holds a value of format "${text[0]}"; this build reads "${FORMAT}" and "${JSON_FORMAT}".`,
    );
  return parse(text.slice(1), REVIVERS);
}

/** Whether the encoded value is JSON, and so what it decodes to. */
export function isJsonText(text: string): boolean {
  return text[0] === JSON_FORMAT;
}

/**
 * What `decode` answers, to be shown: where code that is gone would make it, its data stands for it, and the size of a
 * value that is in object storage for that.
 */
export function decodeToShow(text: string): unknown {
  if (isRef(text)) return refToShow(text);
  return text[0] === FORMAT ? parse(text.slice(1), SHOWN) : decode(text);
}

/** What `decode` answers, with errors and instances as they are recorded: no class is looked for, no stream opened. */
export function decodeInert(text: string): unknown {
  if (isRef(text)) return refToShow(text);
  return text[0] === FORMAT ? parse(text.slice(1), INERT) : decode(text);
}

/** What an object of `decodeInert` stands for: `Error`, `Instance`. Undefined: for itself. */
export function inertType(value: object): string | undefined {
  return (value as Record<symbol, string | undefined>)[INERT_TYPE];
}

/** A short digest of encoded arguments; replay compares it with the recorded one. */
export function digestOf(encoded: string): string {
  return hash('sha1', encoded, 'base64url');
}

// --- internal ---

function encodeAny(value: unknown, root: string): string {
  try {
    const text = stringify(value, REDUCERS, VIEWS);
    // Each level takes some characters: what is short is not deep.
    if (text.length > MAX_DEPTH * 4 && isDeeper(value, MAX_DEPTH)) throw new SerializationError(root, TOO_DEEP);
    return FORMAT + text;
  } catch (error) {
    if (error instanceof DevalueError)
      throw new SerializationError((root + error.path).replace(/^\./, ''), reasonOf(error));
    if (error instanceof RangeError && isDeeper(value, MAX_DEPTH)) throw new SerializationError(root, TOO_DEEP);
    throw error;
  }
}

const ERRORS = createErrorCodec(isRecordable);
const REDUCERS = { Instance: reduceInstance, Error: ERRORS.reduce };
const REVIVERS = {
  Error: ERRORS.revive,
  Instance: (plain: RecordedValue) => reviveInstance(plain, { encode, decode }),
};

/**
 * A view of a part of a buffer is the bytes it shows. Beside them may be anything, such as what others have in the pool that
 * Node cuts its buffers from, and the next process has something else there.
 */
const VIEWS: StringifyOptions = {
  operations: {
    viewInfo(view: NodeJS.TypedArray | DataView) {
      const { byteLength } = view;
      const isWhole = byteLength === view.buffer.byteLength;
      return {
        buffer: isWhole ? view.buffer : view.buffer.slice(view.byteOffset, view.byteOffset + byteLength),
        byteOffset: 0,
        byteLength,
        bufferByteLength: byteLength,
      };
    },
  },
};

const SHOWN = {
  Error: ERRORS.revive,
  Instance(plain: RecordedValue) {
    try {
      return REVIVERS.Instance(plain);
    } catch {
      return plain.type === 'class' ? plain.data : plain;
    }
  },
};

const INERT_TYPE = Symbol('svc.engine.inert');
const INERT = {
  Error: (plain: object) => Object.assign(plain, { [INERT_TYPE]: 'Error' }),
  Instance: (plain: object) => Object.assign(plain, { [INERT_TYPE]: 'Instance' }),
};

/** Levels of objects within objects; the codec takes some frames of the stack for each. */
const MAX_DEPTH = 1_000;
const TOO_DEEP = `it is nested more than ${MAX_DEPTH.toLocaleString('en')} levels deep`;

function isDeeper(value: unknown, depth: number): boolean {
  const seen = new Set<object>();
  let level: unknown[] = [value];
  for (let n = 0; level.length > 0; n++) {
    if (n > depth) return true;
    level = level.flatMap((item) => {
      if (typeof item !== 'object' || item === null || seen.has(item)) return [];
      seen.add(item);
      if (item instanceof Map) return [...item].flat();
      return item instanceof Set ? [...item] : ArrayBuffer.isView(item) ? [] : Object.values(item);
    });
  }
  return false;
}

function isRecordable(value: unknown): boolean {
  try {
    stringify(value, REDUCERS, VIEWS);
    return true;
  } catch {
    return false;
  }
}

/** Whether JSON brings the value back as it is: nothing but plain data, and no object twice. */
function isPlain(value: unknown, most: number): boolean {
  if (typeof value === 'object' && value !== null) return isPlainObject(value, { most, seen: [] }, 0);
  return isPlainScalar(value);
}

function isPlainItem(item: unknown, state: Seen, depth: number): boolean {
  return typeof item === 'object' && item !== null ? isPlainObject(item, state, depth) : isPlainScalar(item);
}

interface Seen {
  most: number;
  /** A list is the faster one of few. */
  seen: object[] | Set<object>;
}

function isPlainScalar(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  return typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0);
}

function isPlainObject(value: object, state: Seen, depth: number): boolean {
  if (depth >= MAX_PLAIN_LEVELS || !isNew(value, state)) return false;
  if (Array.isArray(value)) {
    // A hole and a key of its own are not in what JSON writes.
    if (Object.keys(value).length !== value.length) return false;
    for (const item of value) if (!isPlainItem(item, state, depth + 1)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || Object.getOwnPropertySymbols(value).length > 0) return false;
  for (const key of Object.keys(value))
    if (key === '__proto__' || !isPlainItem((value as Record<string, unknown>)[key], state, depth + 1)) return false;
  return true;
}

/** False: it has come before, or there are too many. */
function isNew(value: object, state: Seen): boolean {
  const { seen, most } = state;
  if (Array.isArray(seen)) {
    if (seen.includes(value) || seen.length >= most) return false;
    if (seen.length < MAX_PLAIN_OBJECTS) seen.push(value);
    else state.seen = new Set(seen).add(value);
    return true;
  }
  const before = seen.size;
  return seen.add(value).size > before;
}

const MAX_PLAIN_OBJECTS = 64;
/** Deeper than any request. */
const MAX_PLAIN_LEVELS = 80;

function reasonOf(error: DevalueError): string {
  const text = error.message.toLowerCase();
  if (text.includes('function')) return 'it is a function';
  if (text.includes('symbol')) return 'it is a symbol or carries a symbol key';
  if (text.includes('non-poj')) return reasonOfInstance(error.value);
  return error.message;
}
