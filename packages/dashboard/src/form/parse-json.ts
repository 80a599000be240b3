/** Throws a sentence that says what does not parse. */
export function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** The same of an object; no text is an empty one. */
export function parseObject(what: string, text: string): Record<string, unknown> {
  const value = text.trim() === '' ? {} : parseJson(what, text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is no object.`);
  return value as Record<string, unknown>;
}
