/** A value of Postgres as JSON: numbers that JSON holds exactly, booleans, JSON; all else as the server writes it. */
export function toValue(typeId: number, text: string | null): unknown {
  if (text === null) return null;
  return (PARSERS.get(typeId) ?? asText)(text);
}

/** Undefined: the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// --- internal ---

type Parser = (text: string) => unknown;

const asText: Parser = (text) => text;
const asNumber: Parser = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);
const asInteger: Parser = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);

const BOOL = 16;
const INT8 = 20;
const [INT2, INT4, OID, FLOAT4, FLOAT8] = [21, 23, 26, 700, 701];
const [JSON_TEXT, JSONB] = [114, 3802];

const PARSERS = new Map<number, Parser>([
  [BOOL, (text) => text === 't'],
  [INT8, asInteger],
  ...[INT2, INT4, OID, FLOAT4, FLOAT8].map((id): [number, Parser] => [id, asNumber]),
  ...[JSON_TEXT, JSONB].map((id): [number, Parser] => [id, (text) => JSON.parse(text)]),
]);
