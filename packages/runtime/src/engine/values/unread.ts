import { bytesOf, readBytes } from './bodies.ts';
import { runStreamOf } from './stream-ref.ts';
import { decode, encode } from '../serialize.ts';
import { keepStream } from './streams.ts';

/** Bytes of one body, or of one frame of a stream. */
const LIMIT = 1_048_576;

/** Bodies and streams inside a value, which have to be read before it can be recorded. Plain data costs one look. */
export function listUnread(value: unknown): Unread[] {
  if (typeof value !== 'object' || value === null) return NONE;
  return listIn(value, isUnread);
}

/** Reads them: bodies are kept beside their Request or Response, streams go to the run of the step this is called in. */
export async function readAll(unread: Unread[]): Promise<void> {
  for (const [nth, one] of unread.entries()) {
    if (one instanceof ReadableStream) await keepStream(one, { nth, limit: LIMIT, encode, decode });
    else await readBytes(one, LIMIT);
  }
}

/** What a body can hand to its own steps alone. */
export function holdsSignal(value: unknown): boolean {
  const isSignal = (item: object): item is AbortSignal =>
    item instanceof AbortSignal || item instanceof AbortController;
  return listIn(value, isSignal).length > 0;
}

// --- internal ---

type Unread = Request | Response | ReadableStream<unknown>;

const NONE: Unread[] = [];

/** Looks into whatever a value may be made of, in its order; what is neither that nor wanted is left alone. */
function listIn<T extends object>(value: unknown, isWanted: (item: object) => item is T): T[] {
  const found: T[] = [];
  const seen = new Set<object>();
  // A list and no recursion: a value may be deeper than the stack.
  const left: unknown[] = [value];
  while (left.length > 0) {
    const item = left.pop();
    if (typeof item !== 'object' || item === null || seen.has(item)) continue;
    seen.add(item);
    const inner = partsOf(item);
    if (inner) for (let index = inner.length - 1; index >= 0; index--) left.push(inner[index]);
    else if (isWanted(item)) found.push(item);
  }
  return found;
}

/** What a list, a map, a set or an object without a class holds. Undefined: it is none of these. */
function partsOf(value: object): unknown[] | undefined {
  if (Array.isArray(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return Object.values(value);
  if (value instanceof Set) return [...value];
  return value instanceof Map ? [...value].flat() : undefined;
}

function isUnread(value: object): value is Unread {
  if (value instanceof ReadableStream) return runStreamOf(value) === undefined;
  return (value instanceof Request || value instanceof Response) && bytesOf(value) === undefined;
}
