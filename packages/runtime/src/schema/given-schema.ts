import { compileLinear } from '../linear-pattern.ts';
import type { AnySchema, JsonSchema } from './schema.ts';

/**
 * What a JSON Schema accepts that a caller or a server has brought, as far as it can be checked here: one that says more
 * takes anything. Its patterns may be made to take for ever, so they run on an engine that does not; one that needs more
 * than that is left out, and so are `patternProperties`.
 */
export async function fromJsonSchema(schema: JsonSchema): Promise<AnySchema> {
  const { fromJSONSchema, z } = await import('zod');
  try {
    const made = fromJSONSchema(withoutPatternProperties(schema) as never);
    replacePatterns(made, new Set());
    return made;
  } catch {
    return z.unknown();
  }
}

// --- internal ---

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
