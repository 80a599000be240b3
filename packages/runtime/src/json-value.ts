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
 */
export function toJsonValue(value: unknown): unknown {
  return convert(value, new Set());
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

/** The same of a value as the journal has it. */
export function toShownValue(text: string): unknown {
  const value = decodeToShow(text);
  return isJsonText(text) ? value : toJsonValue(value);
}

/** Milliseconds since 1970 as ISO 8601 with milliseconds. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

// --- internal ---

function convert(value: unknown, parents: Set<object>): unknown {
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'bigint') return value.toString();
  const step = toStepRef(value);
  if (step) return { step: step.id };
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return null;
  if (typeof value !== 'object' || value === null) return value;
  if (parents.has(value)) return null;
  parents.add(value);
  const plain = convertObject(value, (inner) => convert(inner, parents));
  parents.delete(value);
  return plain;
}

function convertObject(value: object, inner: (value: unknown) => unknown): unknown {
  // Most are one of these: a value of a request may have a hundred thousand.
  if (Array.isArray(value)) return value.map(inner);
  if (Object.getPrototypeOf(value) === Object.prototype && !runStreamOf(value)) return convertMembers(value, inner);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL || value instanceof RegExp) return String(value);
  if (value instanceof Request) return { method: value.method, url: value.url, ...toParts(value) };
  if (value instanceof Response) return { status: value.status, ...toParts(value) };
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
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, inner);
  return convertMembers(value, inner);
}

function convertMembers(value: object, inner: (value: unknown) => unknown): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    if (key === '__proto__')
      Object.defineProperty(shown, key, { value: inner(item), enumerable: true, configurable: true, writable: true });
    else shown[key] = inner(item);
  }
  return shown;
}

function toParts(message: Request | Response): { headers: Record<string, string>; body: unknown } {
  const bytes = bytesOf(message);
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
