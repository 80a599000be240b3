import { isSchema } from '../schema/schema.ts';
import type { AnySchema } from '../schema/schema.ts';

/** A zod schema per key, each with a default. */
export type DynamicConfig = Readonly<Record<string, AnySchema>>;

/**
 * Types `config.schema.ts`: the values an operator may change while the box runs, each with the default that is in force
 * until then. Throws a sentence when a key or a schema is none.
 */
export function defineDynamicConfig<const S extends DynamicConfig>(schemas: S): S {
  checkDynamicConfig(schemas);
  return Object.freeze({ ...schemas });
}

export function checkDynamicConfig(schemas: unknown): asserts schemas is DynamicConfig {
  if (typeof schemas !== 'object' || schemas === null || isSchema(schemas))
    throw new TypeError('It must be an object of zod schemas by key: { maxRefund: z.number().default(50) }.');
  for (const [key, schema] of Object.entries(schemas)) {
    if (!KEY.test(key))
      throw new TypeError(
        `"${key}" cannot be a key. Use 1 to 100 letters, digits, "_", "-" and ".", a letter or "_" first.`,
      );
    if (!isSchema(schema))
      throw new TypeError(`"${key}" is not a zod schema. Write for example: z.number().default(50).`);
  }
}

// --- internal ---

const KEY = /^[A-Za-z_][\w.-]{0,99}$/;
