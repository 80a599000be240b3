import type { Mask } from './mask.ts';
import { HIDDEN } from './mask.ts';

/**
 * The same as plain data that JSON can hold, without secrets: neither under a field that is called one, nor in any text.
 */
export function redact(value: unknown, mask: Mask): unknown {
  return clean(value, { mask, parents: [] });
}

// --- internal ---

interface Place {
  mask: Mask;
  parents: readonly object[];
}

const SECRET_FIELD =
  /(?:^|[-_.])(?:authorization|cookie|token|secret)$|(?:password|secret|token|secret[-_]?key|api[-_]?key|access[-_]?key|private[-_]?key)$/i;
const MAX_DEPTH = 8;

function clean(value: unknown, place: Place): unknown {
  if (typeof value === 'string') return place.mask.text(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (place.parents.includes(value) || place.parents.length >= MAX_DEPTH) return '[left out]';
  const inside = { mask: place.mask, parents: [...place.parents, value] };
  if (value instanceof Error)
    return cleanFields({ name: value.name, message: value.message, stack: value.stack }, inside);
  if (Array.isArray(value)) return value.map((item) => clean(item, inside));
  if (hasJson(value)) return clean(value.toJSON(), inside);
  return cleanFields(value as Record<string, unknown>, inside);
}

function cleanFields(fields: Record<string, unknown>, place: Place): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' && SECRET_FIELD.test(name) ? HIDDEN : clean(value, place),
    ]),
  );
}

function hasJson(value: object): value is { toJSON(): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}
