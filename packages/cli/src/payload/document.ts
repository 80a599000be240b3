import { loadSpec } from '../operations/spec.ts';
import type { Schema } from './schema.ts';
import { addMembers } from './payload.ts';
import type { JsonType } from './payload.ts';
import type { Verb } from '../verb.ts';

/** What a verb prints with --json as JSON Schema; of a stream, each line of it. */
export async function describeDocument({ payload, isStream }: Pick<Verb, 'payload' | 'isStream'>): Promise<Schema> {
  const schema = await describeType(payload);
  return isStream ? { anyOf: [...(schema.anyOf ?? [schema]), END] } : addMembers(schema, VERSION);
}

/** A type as JSON Schema. */
export async function describeType(type: JsonType<unknown>): Promise<Schema> {
  return withoutDialect(await type.toSchema(async (id) => (await loadSpec(id)).output));
}

// --- internal ---

const VERSION = { properties: { schema_version: { const: 1 } }, required: ['schema_version'] };

/** The last line of every stream. */
const END: Schema = {
  ...addMembers({ type: 'object', properties: { type: { const: 'end' } }, required: ['type'] }, VERSION),
  additionalProperties: false,
};

/** Without the dialect, and without the pattern of what has a format: it is long and says the same. */
function withoutDialect<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(withoutDialect) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $schema: _, ...rest } = schema as T & { $schema?: unknown; format?: unknown };
  const members = Object.entries(rest).filter(([name]) => name !== 'pattern' || rest.format === undefined);
  return Object.fromEntries(members.map(([name, value]) => [name, withoutDialect(value)])) as T;
}
