/** JSON of an object; nothing is an empty one. Throws a sentence that says what does not parse. */
export function parseObject(what: string, text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} is not JSON: ${(error as Error).message}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is no object.`);
  return value as Record<string, unknown>;
}
