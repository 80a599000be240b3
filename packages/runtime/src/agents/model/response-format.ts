import type { JsonSchema } from '../../schema/schema.ts';

/** How a provider is sent the schema of the answer; strictly, where the schema allows it. */
export function toResponseFormat(given: JsonSchema): object {
  const { $schema: _dropped, ...schema } = given;
  const strict = toStrict(schema);
  const json = strict === undefined ? { schema } : { schema: strict as JsonSchema, strict: true };
  return { type: 'json_schema', json_schema: { name: 'answer', ...json } };
}

// --- internal ---

/** What strict providers take. A schema with any other word is sent as a wish. */
const STRICT_WORDS = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'enum',
  'const',
  'anyOf',
  'description',
  'title',
]);

/** The schema with every object closed; undefined: strict mode does not know it, or a member may be left out. */
function toStrict(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return undefined;
  const node = withoutSafeBounds(schema as JsonSchema);
  if (Object.keys(node).some((word) => !STRICT_WORDS.has(word))) return undefined;
  const parts: JsonSchema = { ...node };
  if (node.anyOf !== undefined) {
    const options = toStrictList(node.anyOf);
    if (!options) return undefined;
    parts.anyOf = options;
  }
  if (node.items !== undefined) {
    const items = toStrict(node.items);
    if (!items) return undefined;
    parts.items = items;
  }
  return node.type === 'object' ? closeObject(node, parts) : parts;
}

/** An integer without bounds of its own is one that JavaScript can count to: nothing to send a model. */
function withoutSafeBounds({ minimum, maximum, ...node }: JsonSchema): JsonSchema {
  return {
    ...node,
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
  };
}

function closeObject(node: JsonSchema, parts: JsonSchema): JsonSchema | undefined {
  const properties = Object.entries((node.properties ?? {}) as Record<string, unknown>);
  const required = (node.required ?? []) as string[];
  const isOpen = node.additionalProperties !== undefined && node.additionalProperties !== false;
  if (isOpen || properties.some(([name]) => !required.includes(name))) return undefined;
  const strict = properties.map(([name, property]) => [name, toStrict(property)] as const);
  if (strict.some(([, property]) => property === undefined)) return undefined;
  return { ...parts, properties: Object.fromEntries(strict), required, additionalProperties: false };
}

function toStrictList(options: unknown): unknown[] | undefined {
  if (!Array.isArray(options)) return undefined;
  const strict = options.map(toStrict);
  return strict.includes(undefined) ? undefined : strict;
}
