import { createKnownError } from '../errors.ts';
import { toText } from './text.ts';

/** How an error stands in the journal. `cause`, `errors` and `props` may hold further errors. */
export interface PlainError {
  name: string;
  message: string;
  stack?: string;
  code?: string;
  status?: number;
  fatal?: true;
  cause?: unknown;
  /** Of an AggregateError. */
  errors?: unknown[];
  /** What its thrower put on it, as far as it can be recorded. */
  props?: Record<string, unknown>;
}

export interface ErrorCodec {
  /** False: it is no error. */
  reduce(value: unknown): PlainError | false;
  revive(plain: PlainError): Error;
}

/**
 * An error must never fail to be recorded because of what it carries: a property the journal cannot hold is left out, a
 * cause of that kind becomes text, a cause that leads back to the error ends there.
 */
export function createErrorCodec(isRecordable: (value: unknown) => boolean): ErrorCodec {
  const toPlain = (error: Error, parents: readonly Error[]): PlainError => {
    const { code, status, fatal, cause, errors } = readAll(error);
    const plain: PlainError = { name: toText(read(error, 'name')), message: toText(read(error, 'message')) };
    const path = [...parents, error];
    const inner = (value: unknown): unknown => {
      if (value instanceof Error) return path.includes(value) ? toText(read(value, 'message')) : toInner(value, path);
      return isRecordable(value) ? value : toText(value);
    };
    const stack = read(error, 'stack');
    if (typeof stack === 'string') plain.stack = stack;
    if (typeof code === 'string') plain.code = code;
    if (typeof status === 'number') plain.status = status;
    if (fatal === true) plain.fatal = true;
    if (cause !== undefined) plain.cause = inner(cause);
    if (error instanceof AggregateError && Array.isArray(errors)) plain.errors = errors.map(inner);
    const props = propsOf(error).flatMap(([key, value]): [string, unknown][] => {
      if (value instanceof Error) return [[key, inner(value)]];
      return isRecordable(value) ? [[key, value]] : [];
    });
    if (props.length > 0) plain.props = Object.fromEntries(props);
    return plain;
  };
  const toInner = (error: Error, path: readonly Error[]): object =>
    path.length < MAX_DEPTH ? Object.assign(Object.create(INNER) as Inner, { plain: toPlain(error, path) }) : {};
  return {
    reduce(value) {
      if (!(value instanceof Error)) return false;
      return INNER.isPrototypeOf(value) ? (value as unknown as Inner).plain : toPlain(value, []);
    },
    revive(plain) {
      const error = createKnownError(plain);
      Object.defineProperty(error, 'name', { value: plain.name, configurable: true, writable: true });
      if (plain.stack !== undefined) error.stack = plain.stack;
      for (const key of ['code', 'status', 'fatal'] as const)
        if (plain[key] !== undefined) Object.assign(error, { [key]: plain[key] });
      return Object.assign(error, plain.props);
    },
  };
}

// --- internal ---

/** Deeper chains of causes end here. */
const MAX_DEPTH = 20;

/** An error within another one that has been made plain already: it is not looked at twice. */
interface Inner {
  plain: PlainError;
}
const INNER: object = Object.create(Error.prototype) as object;

const KNOWN = new Set(['name', 'message', 'stack', 'cause', 'errors', 'code', 'status', 'fatal']);

function propsOf(error: Error): [string, unknown][] {
  const keys = Object.keys(error).filter((key) => !isKnown(error, key));
  return keys.flatMap((key): [string, unknown][] => {
    const value = read(error, key);
    return value === undefined || typeof value === 'function' ? [] : [[key, value]];
  });
}

/** Recorded in a field of its own; a `code` that is a number, or a `status` that is a text, is a property like others. */
function isKnown(error: Error, key: string): boolean {
  if (key === 'code') return typeof read(error, key) === 'string';
  if (key === 'status') return typeof read(error, key) === 'number';
  if (key === 'fatal') return read(error, key) === true;
  if (key === 'errors') return error instanceof AggregateError;
  return KNOWN.has(key);
}

function readAll(error: Error): Record<'code' | 'status' | 'fatal' | 'cause' | 'errors', unknown> {
  const [code, status, fatal, cause, errors] = ['code', 'status', 'fatal', 'cause', 'errors'].map((key) =>
    read(error, key),
  );
  return { code, status, fatal, cause, errors };
}

/** A property may be a getter that throws. */
function read(error: Error, key: string): unknown {
  try {
    return Reflect.get(error, key) as unknown;
  } catch {
    return undefined;
  }
}
