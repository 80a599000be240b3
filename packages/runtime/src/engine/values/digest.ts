import type { ValueDigest } from '../journal/digest.ts';
import { digestOf, encode } from '../serialize.ts';

/**
 * The digest of a value, in whatever order the members of its objects were written: a client that repeats a call may write
 * them in another.
 * @param encoded the value as the journal holds it
 */
export function digestOfValue(value: unknown, encoded: string): ValueDigest {
  return toDigest(encode(sortMembers(value, new Map()), ''), encoded);
}

/** The same of JSON text, which may have names that the journal refuses. */
export function digestOfJson(text: string): ValueDigest {
  return toDigest(JSON.stringify(sortMembers(JSON.parse(text), new Map())), text);
}

/** Whether a value that comes again is the one that was kept. Still earlier builds kept the text itself. */
export function isSameDigest(kept: string, { digest, older }: ValueDigest): boolean {
  return [digest, older].some((given) => kept === given || digestOf(kept) === given);
}

// --- internal ---

function toDigest(sorted: string, given: string): ValueDigest {
  const digest = digestOf(sorted);
  return sorted === given ? { digest } : { digest, older: digestOf(given) };
}

/** `known`: an object that occurs twice, or in itself, still does. */
function sortMembers(value: unknown, known: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const found = known.get(value);
  if (found) return found;
  if (Array.isArray(value)) return copyItems(value, known);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const sorted: Record<string, unknown> = {};
  known.set(value, sorted);
  for (const key of Object.keys(value).sort()) {
    const member = sortMembers((value as Record<string, unknown>)[key], known);
    Object.defineProperty(sorted, key, { value: member, enumerable: true, configurable: true, writable: true });
  }
  return sorted;
}

function copyItems(items: unknown[], known: Map<object, unknown>): unknown[] {
  const copy: unknown[] = [];
  known.set(items, copy);
  for (const key of Object.keys(items)) copy[Number(key)] = sortMembers(items[Number(key)], known);
  copy.length = items.length;
  return copy;
}
