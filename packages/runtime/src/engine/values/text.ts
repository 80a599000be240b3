/** Any value in a sentence; never throws, whatever its own methods do. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    if (value instanceof Error) return String(value.message);
    return JSON.stringify(value) ?? String(value);
  } catch {
    return readTag(value);
  }
}

// --- internal ---

function readTag(value: unknown): string {
  try {
    return Object.prototype.toString.call(value);
  } catch {
    return 'a value that cannot be shown';
  }
}
