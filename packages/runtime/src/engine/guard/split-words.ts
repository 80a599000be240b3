/** The words of a text: long lists of names are easier to read so. */
export function splitWords(text: string): string[] {
  return text.trim().split(/\s+/);
}
