/**
 * About how many tokens a text has: some four letters or digits of a word are one, and so is every other sign and every
 * letter of a writing without spaces. Models differ, and the one of the collection is not known here; this is never far
 * below any of them.
 */
export function countTokens(text: string): number {
  let tokens = 0;
  let word = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isOfWord(code)) {
      word += 1;
      continue;
    }
    tokens += Math.ceil(word / LETTERS);
    word = 0;
    if (!isSpace(code)) tokens += 1;
  }
  return tokens + Math.ceil(word / LETTERS);
}

/** Whether it is a letter or a digit of a writing that has spaces between words. */
export function isOfWord(code: number): boolean {
  if (code < 0x80) return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
  return code < 0x2e80 && code >= 0xaa;
}

export function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0;
}

// --- internal ---

const LETTERS = 4;
