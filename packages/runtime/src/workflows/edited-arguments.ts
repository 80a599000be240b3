import { decode, encode } from '../engine/serialize.ts';
import { toCanonicalText, toJsonValue } from '../json-value.ts';

/**
 * The encoded input of a step with these arguments, as JSON has them. What is in them as the recorded ones are shown stays what
 * it is: a date is a date, and not its text. Throws where the recorded input cannot be read.
 */
export function toEditedInput(recorded: string, args: readonly unknown[], step: string): string {
  const input = decode(recorded) as { args: unknown[] };
  const edited = args.map((value, index) => (index < input.args.length ? merge(input.args[index], value) : value));
  return encode({ ...input, args: edited }, step);
}

// --- internal ---

/** Both are of a request of some kilobytes, 64 deep at most. */
function merge(recorded: unknown, edited: unknown): unknown {
  if (toCanonicalText(toJsonValue(recorded)) === toCanonicalText(edited)) return recorded;
  if (Array.isArray(recorded) && Array.isArray(edited))
    return edited.map((value, index) => (index < recorded.length ? merge(recorded[index], value) : value));
  if (!isPlain(recorded) || !isPlain(edited)) return edited;
  const entries = Object.entries(edited);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Object.hasOwn(recorded, key) ? merge(recorded[key], value) : value]),
  );
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
