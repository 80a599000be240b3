import { toJSONSchema } from 'zod';
import type { z } from 'zod';
import type { JsonSchema } from '../schema/schema.ts';

export interface SchemaWriter {
  /** The JSON Schema of an answer. What has a name is referred to. */
  toOutput(schema: z.ZodType): JsonSchema;
  /** The JSON Schema of an input. What has a name among inputs is referred to. */
  toInput(schema: z.ZodType): JsonSchema;
  /** Every named schema. */
  components(): Record<string, JsonSchema>;
}

/** Writes schemas of operations as OpenAPI 3.1 has them: JSON Schema 2020-12. */
export function createSchemaWriter(
  named: Record<string, z.ZodType>,
  namedInputs: Record<string, z.ZodType> = {},
): SchemaWriter {
  const names = toNames(named);
  const inputNames = toNames(namedInputs);
  const toOutput = (schema: z.ZodType, own?: string): JsonSchema =>
    tidy(
      toJSONSchema(schema, {
        io: 'output',
        unrepresentable: 'any',
        override({ zodSchema, jsonSchema }) {
          const name = names.get(zodSchema);
          if (name === undefined || name === own) openObject(jsonSchema as JsonSchema);
          else refer(jsonSchema as JsonSchema, name);
        },
      }),
    );
  const toInput = (schema: z.ZodType, own?: string): JsonSchema =>
    tidy(
      toJSONSchema(schema, {
        io: 'input',
        unrepresentable: 'any',
        override({ zodSchema, jsonSchema }) {
          const name = inputNames.get(zodSchema);
          if (name !== undefined && name !== own) refer(jsonSchema as JsonSchema, name);
        },
      }),
    );
  return {
    toOutput: (schema) => toOutput(schema),
    toInput: (schema) => toInput(schema),
    components: () => {
      const outputs = Object.entries(named).map(([name, schema]) => [name, toOutput(schema, name)] as const);
      const inputs = Object.entries(namedInputs).map(([name, schema]) => [name, toInput(schema, name)] as const);
      return Object.fromEntries([...outputs, ...inputs]);
    },
  };
}

// --- internal ---

function toNames(named: Record<string, z.ZodType>): Map<unknown, string> {
  return new Map(Object.entries(named).map(([name, schema]) => [schema, name]));
}

function refer(schema: JsonSchema, name: string): void {
  for (const key of Object.keys(schema)) delete schema[key];
  schema.$ref = `#/components/schemas/${name}`;
}

/** An answer may have members that a later version adds. */
function openObject(schema: JsonSchema): void {
  if (schema.additionalProperties === false) delete schema.additionalProperties;
}

function tidy(schema: object): JsonSchema {
  const { $schema: _, ...rest } = simplify(schema) as JsonSchema;
  return rest;
}

/** Leaves out what says nothing: patterns of formats, the limits of JavaScript's integers, unions with null alone. */
function simplify(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(simplify);
  if (typeof value !== 'object' || value === null) return value;
  const schema = value as JsonSchema;
  const entries = Object.entries(schema).filter(([key, item]) => !isNoise(schema, key, item));
  return mergeNull(Object.fromEntries(entries.map(([key, item]) => [key, simplify(item)])));
}

function isNoise(schema: JsonSchema, key: string, item: unknown): boolean {
  if (key === 'pattern') return typeof schema.format === 'string';
  return (
    (key === 'minimum' && item === Number.MIN_SAFE_INTEGER) || (key === 'maximum' && item === Number.MAX_SAFE_INTEGER)
  );
}

/** `anyOf: [{ type: 'string' }, { type: 'null' }]` is `type: ['string', 'null']`. */
function mergeNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema;
  const [one, other] = anyOf as [JsonSchema, JsonSchema];
  if (other.type !== 'null' || typeof one.type !== 'string' || 'enum' in one || 'const' in one) return schema;
  return { ...one, ...rest, type: [one.type, 'null'] };
}
