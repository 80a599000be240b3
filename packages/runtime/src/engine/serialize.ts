import { hash } from 'node:crypto';
import { DevalueError, parse, stringify } from 'devalue';
import { runStreamName } from './run-stream.ts';

/** The first character of every encoded value. A reader refuses a format it does not know. */
const FORMAT = '1';

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
 * Error (name, message, stack, cause, code, status) survive; functions, symbols and class instances are refused by path.
 * @param root what the value is called in an error: `input`, `result`
 */
export function encode(value: unknown, root: string): string {
  try {
    return FORMAT + stringify(value, REDUCERS);
  } catch (error) {
    if (error instanceof DevalueError) throw new SerializationError(root + error.path, reasonOf(error));
    throw error;
  }
}

/** The inverse of `encode`. */
export function decode(text: string): unknown {
  if (text[0] !== FORMAT)
    throw new Error(`The journal holds a value of format "${text[0]}"; this build reads "${FORMAT}".`);
  return parse(text.slice(1), REVIVERS);
}

/** A short digest of encoded arguments; replay compares it with the recorded one. */
export function digestOf(encoded: string): string {
  return hash('sha1', encoded, 'base64url');
}

// --- internal ---

const REDUCERS = { Error: reduceError, RunStream: (value: unknown) => runStreamName(value) ?? false };
/** A stream of a run comes back as its name: only a step that runs can write to it. */
const REVIVERS = { Error: reviveError, RunStream: (stream: string) => ({ stream }) };

interface PlainError {
  name: string;
  message: string;
  stack?: string;
  code?: string;
  status?: number;
  fatal?: true;
  cause?: unknown;
}

function reduceError(value: unknown): PlainError | false {
  if (!(value instanceof Error)) return false;
  const { code, status, fatal } = value as { code?: unknown; status?: unknown; fatal?: unknown };
  const plain: PlainError = { name: value.name, message: value.message };
  if (value.stack !== undefined) plain.stack = value.stack;
  if (typeof code === 'string') plain.code = code;
  if (typeof status === 'number') plain.status = status;
  if (fatal === true) plain.fatal = true;
  if (value.cause !== undefined) plain.cause = isRecordable(value.cause) ? value.cause : String(value.cause);
  return plain;
}

function reviveError(plain: PlainError): Error {
  const error = new Error(plain.message, 'cause' in plain ? { cause: plain.cause } : undefined);
  Object.defineProperty(error, 'name', { value: plain.name, configurable: true, writable: true });
  if (plain.stack !== undefined) error.stack = plain.stack;
  if (plain.code !== undefined) Object.assign(error, { code: plain.code });
  if (plain.status !== undefined) Object.assign(error, { status: plain.status });
  if (plain.fatal) Object.assign(error, { fatal: true });
  return error;
}

/** An error must never fail to be recorded because of what caused it. */
function isRecordable(value: unknown): boolean {
  try {
    stringify(value, REDUCERS);
    return true;
  } catch {
    return false;
  }
}

function reasonOf(error: DevalueError): string {
  const text = error.message.toLowerCase();
  if (text.includes('function')) return 'it is a function';
  if (text.includes('symbol')) return 'it is a symbol or carries a symbol key';
  if (text.includes('non-poj')) return 'it is an instance of a class';
  return error.message;
}
