import { bytesOf, readBytes } from './bodies.ts';
import { runStreamOf } from './stream-ref.ts';
import { decode, encode } from '../serialize.ts';
import { keepStream } from './streams.ts';

/** Bytes of one body, or of one frame of a stream. */
const LIMIT = 1_048_576;

/** Bodies and streams inside a value, which have to be read before it can be recorded. Plain data costs one look. */
export function listUnread(value: unknown): Unread[] {
  if (typeof value !== 'object' || value === null) return NONE;
  const found: Unread[] = [];
  visit(value, found, { seen: new Set(), isWanted: isUnread });
  return found;
}

/** Reads them: bodies are kept beside their Request or Response, streams go to the run of the step this is called in. */
export async function readAll(unread: Unread[]): Promise<void> {
  for (const [nth, one] of unread.entries()) {
    if (one instanceof ReadableStream) await keepStream(one, { nth, limit: LIMIT, encode, decode });
    else await readBytes(one, LIMIT);
  }
}

/** A stream that only the run it was made in can write to. */
export function holdsWritable(value: unknown): boolean {
  const found: object[] = [];
  visit(value, found, { seen: new Set(), isWanted: (item): item is object => item instanceof WritableStream });
  return found.length > 0;
}

// --- internal ---

type Unread = Request | Response | ReadableStream<unknown>;

const NONE: Unread[] = [];

interface Search<T> {
  seen: Set<object>;
  isWanted(value: object): value is T & object;
}

/** Looks into whatever a value may be made of; what is neither that nor wanted is left alone. */
function visit<T>(value: unknown, found: T[], search: Search<T>): void {
  if (typeof value !== 'object' || value === null || search.seen.has(value)) return;
  search.seen.add(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    for (const key in value) visit((value as Record<string, unknown>)[key], found, search);
  } else if (Array.isArray(value) || value instanceof Set) {
    for (const item of value) visit(item, found, search);
  } else if (value instanceof Map) {
    for (const [key, item] of value) {
      visit(key, found, search);
      visit(item, found, search);
    }
  } else if (search.isWanted(value)) found.push(value);
}

function isUnread(value: object): value is Unread {
  if (value instanceof ReadableStream) return runStreamOf(value) === undefined;
  return (value instanceof Request || value instanceof Response) && bytesOf(value) === undefined;
}
