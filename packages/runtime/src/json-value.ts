import { isUtf8 } from 'node:buffer';
import { decodeToShow, isJsonText } from './engine/serialize.ts';
import { bytesOf } from './engine/values/bodies.ts';
import { AbortingAnswer } from './engine/values/signals.ts';
import { toStepRef } from './engine/values/steps.ts';
import { runStreamOf } from './engine/values/stream-ref.ts';
import { isJsonType } from './http/body.ts';

/**
 * A recorded value as JSON can show it: Date → ISO text, BigInt → digits, Map → entries, Set → array, Error → its
 * parts, typed array → numbers, Request and Response → their parts with the body as JSON, text or numbers, stream → name, step function → id, a reference back to a parent, another function or a symbol → null.
 * @param most characters that may come of it, about: what is in many places is written in each. Throws `RangeError`
 */
export function toJsonValue(value: unknown, most = Infinity): unknown {
  return convert(value, { parents: new Set(), left: most });
}

/** JSON with the members of every object in order: the same for values that say the same. */
export function toCanonicalText(value: unknown): string {
  const text = JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  ) as string | undefined;
  return text ?? 'null';
}

/** The same of a value as the journal holds it. */
export function toShownValue(text: string, most?: number): unknown {
  const value = decodeToShow(text);
  return isJsonText(text) ? value : toJsonValue(value, most);
}

/** Milliseconds since 1970 as ISO 8601 with milliseconds. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

// --- internal ---

interface Walk {
  parents: Set<object>;
  /** Characters that may still come of it. */
  left: number;
}

function spend(walk: Walk, characters: number): void {
  walk.left -= characters;
  if (walk.left < 0) throw new RangeError('The value is too long as JSON.');
}

function convert(value: unknown, walk: Walk): unknown {
  spend(walk, typeof value === 'string' ? value.length : 1);
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'bigint') return value.toString();
  const step = toStepRef(value);
  if (step) return { step: step.id };
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return null;
  if (typeof value !== 'object' || value === null) return value;
  const { parents } = walk;
  if (parents.has(value)) return null;
  parents.add(value);
  const plain = convertObject(value, walk);
  parents.delete(value);
  return plain;
}

function convertObject(value: object, walk: Walk): unknown {
  const inner = (item: unknown): unknown => convert(item, walk);
  // Most are one of these: a value of a request may have a hundred thousand.
  if (Array.isArray(value)) return value.map(inner);
  if (Object.getPrototypeOf(value) === Object.prototype && !runStreamOf(value)) return convertMembers(value, walk);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL || value instanceof RegExp) return String(value);
  if (value instanceof Request) return { method: value.method, url: value.url, ...toParts(value, walk) };
  if (value instanceof Response) return { status: value.status, ...toParts(value, walk) };
  if (value instanceof Headers || value instanceof URLSearchParams || value instanceof FormData)
    return Object.fromEntries(value);
  if (value instanceof AbortSignal) return { aborted: value.aborted };
  if (value instanceof AbortController) return { aborted: value.signal.aborted };
  if (value instanceof AbortingAnswer) return inner(value.value);
  const stream = runStreamOf(value);
  if (stream) return { stream: stream.name };
  if (value instanceof Map) return [...value].map(([key, item]) => [inner(key), inner(item)]);
  if (value instanceof Set) return [...value].map(inner);
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof ArrayBuffer) return Array.from(new Uint8Array(value), inner);
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, inner);
  return convertMembers(value, walk);
}

function convertMembers(value: object, walk: Walk): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    spend(walk, key.length);
    if (key === '__proto__')
      Object.defineProperty(shown, key, {
        value: convert(item, walk),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    else shown[key] = convert(item, walk);
  }
  return shown;
}

function toParts(message: Request | Response, walk: Walk): { headers: Record<string, string>; body: unknown } {
  const bytes = bytesOf(message);
  spend(walk, bytes?.length ?? 0);
  const headers = Object.fromEntries(message.headers);
  if (!bytes) return { headers, body: '' };
  if (!isUtf8(bytes)) return { headers, body: [...bytes] };
  const text = Buffer.from(bytes).toString();
  return { headers, body: isJsonType(message.headers.get('content-type')) ? parseOrText(text) : text };
}

function parseOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
