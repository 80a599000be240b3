/**
 * The value, plain JSON, with U+FFFD for what the relational store does not take: U+0000, and half of a surrogate pair,
 * which a text has that was cut in the middle of an emoji. Neither may cost a turn what it has done.
 */
export function toStorable<T>(value: T): T {
  const text = JSON.stringify(value);
  if (!MAYBE_UNSTORABLE.test(text)) return value;
  return JSON.parse(text.replace(ESCAPES, (found) => (found === '\\\\' ? found : '\\ufffd'))) as T;
}

export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

// --- internal ---

/** JSON escapes both, and leaves a whole surrogate pair as it is. */
const MAYBE_UNSTORABLE = /\\u(?:0000|d[89a-f])/;
const ESCAPES = /\\\\|\\u(?:0000|d[89a-f][\da-f]{2})/g;
