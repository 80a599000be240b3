/** What is written as `a, b`, as its parts. */
export function splitTags(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}

export function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Throws a sentence that names what is not JSON. */
export function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} is not JSON: ${(error as Error).message}`, { cause: error });
  }
}
