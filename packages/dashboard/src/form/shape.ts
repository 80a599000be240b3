import { isRecord } from './path.ts';
import type { JsonSchema } from './schema.ts';

/** A schema of what is like the value, where nothing says what may be given: what is no plain field is JSON. */
export function schemaLike(value: unknown, depth = 0): JsonSchema {
  if (typeof value === 'string') return { type: 'string' };
  if (typeof value === 'number') return { type: 'number' };
  if (typeof value === 'boolean') return { type: 'boolean' };
  if (!isRecord(value) || depth > MOST_DEPTH) return {};
  const members = Object.entries(value);
  if (members.length === 0 || members.length > MOST_MEMBERS) return {};
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(([name, inner]) => [name, schemaLike(inner, depth + 1)])),
  };
}

// --- internal ---

const MOST_DEPTH = 3;
const MOST_MEMBERS = 50;
