import { compileLinear } from '../linear-pattern.ts';
import type { AnySchema, JsonSchema } from './schema.ts';

/**
 * What a JSON Schema accepts that a caller or a server has brought, as far as it can be checked here: one that says more
 * takes anything. Its patterns may be made to take for ever, so they run on an engine that does not; one that needs more
 * than that is left out, and so are `patternProperties`.
 */
export async function fromJsonSchema(schema: JsonSchema): Promise<AnySchema> {
  const { fromJSONSchema, z } = await import('zod');
  if (countParts(schema, schema, new Map()) > MOST_PARTS) return z.unknown();
  try {
    const made = fromJSONSchema(withoutPatternProperties(schema) as never);
    replacePatterns(made, new Set());
    return made;
  } catch {
    return z.unknown();
  }
}

// --- internal ---

/** A check may look at as many: two alternatives that each refer to two more are twice as many at each level. */
const MOST_PARTS = 10_000;

/**
 * How many parts a schema has, once each reference in it is what it refers to; one that refers to itself ends there.
 * @param known of each definition, by its reference
 */
function countParts(part: unknown, root: JsonSchema, known: Map<string, number>): number {
  if (typeof part !== 'object' || part === null) return 0;
  const { $ref: ref } = part as { $ref?: unknown };
  let count = 1 + (typeof ref === 'string' ? countReferred(ref, root, known) : 0);
  for (const [name, inner] of Object.entries(part)) {
    // What is not referred to is not looked at by a check.
    if (name !== '$defs' && name !== 'definitions') count += countParts(inner, root, known);
    if (count > MOST_PARTS) break;
  }
  return count;
}

function countReferred(ref: string, root: JsonSchema, known: Map<string, number>): number {
  const counted = known.get(ref);
  if (counted !== undefined) return counted;
  known.set(ref, 1);
  const [, kind = '', name = ''] = /^#\/(\$defs|definitions)\/(.+)$/.exec(ref) ?? [];
  const count = countParts((root[kind] as Record<string, unknown> | undefined)?.[name], root, known);
  known.set(ref, count);
  return count;
}

function withoutPatternProperties(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('patternProperties' in value)) return value;
    const { patternProperties: _left, additionalProperties: _closed, ...rest } = value as JsonSchema;
    return rest;
  }) as JsonSchema;
}

/** In the definitions of a schema and of those it is made of. Its checks read them whenever they run. */
function replacePatterns(part: unknown, seen: Set<object>): void {
  if (typeof part !== 'object' || part === null || seen.has(part)) return;
  seen.add(part);
  if (Array.isArray(part)) return part.forEach((item) => replacePatterns(item, seen));
  const { def } = ('_zod' in part ? part._zod : { def: part }) as { def: Record<string, unknown> };
  // Formats have patterns of the library's own, which are known.
  if (def.format === 'regex' && def.pattern instanceof RegExp) def.pattern = toLinear(def.pattern);
  if (def.type === 'lazy') replacePatterns((def.getter as () => unknown)(), seen);
  for (const value of Object.values(def)) if (!(value instanceof RegExp)) replacePatterns(value, seen);
}

function toLinear(pattern: RegExp): unknown {
  const linear = compileLinear(pattern.source);
  return { test: (text: string) => linear?.test(text) ?? true, toString: () => String(pattern) };
}
