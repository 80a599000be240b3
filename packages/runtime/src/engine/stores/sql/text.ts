/**
 * Any JavaScript string to text that every store keeps: Postgres takes no U+0000, and UTF-8 has no lone surrogates.
 * Such a code unit becomes U+001A and four hex digits, and so does U+001A itself. All other text stays as it is.
 */
export function toStoredText(text: string): string {
  // Nearly every text is plain, and these three checks find that fast.
  if (text.isWellFormed() && !text.includes('\0') && !text.includes(ESCAPE)) return text;
  return text.replace(UNSTORABLE_ALL, escapeUnit);
}

/** The string that `toStoredText` was given. */
export function fromStoredText(text: string): string {
  return text.includes(ESCAPE) ? text.replace(ESCAPED_ALL, (_, hex: string) => unescapeUnit(hex)) : text;
}

// --- internal ---

const ESCAPE = '\u001a';
// With the u flag a surrogate pair is one letter, so `\p{Cs}` finds lone ones only.
const UNSTORABLE_ALL = new RegExp(`[\\0${ESCAPE}\\p{Cs}]`, 'gu');
const ESCAPED_ALL = new RegExp(`${ESCAPE}([0-9a-f]{4})`, 'g');

function escapeUnit(unit: string): string {
  return ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, '0');
}

function unescapeUnit(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
