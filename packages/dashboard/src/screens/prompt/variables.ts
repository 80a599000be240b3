/** The names a text has in double braces, each once, in their order. */
export function listVariables(text: string): string[] {
  const names = [...text.matchAll(/\{\{\s{0,8}([A-Za-z_]\w{0,63})\s{0,8}\}\}/g)].map(([, name = '']) => name);
  return [...new Set(names)];
}
