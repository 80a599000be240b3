/**
 * Schemas an author brings: zod 3 or zod 4, from whichever copy of zod the workspace has. Distinguished by marker,
 * never by `instanceof`.
 */
export interface AnySchema {
  safeParseAsync(value: unknown): Promise<unknown>;
  safeParse(value: unknown): unknown;
}

export type { InputOf } from '@svc/client';
/** What a schema gives after parsing. */
export type OutputOf<S> = S extends { _zod: { output: infer O } } ? O : S extends { _output: infer O } ? O : unknown;

export type JsonSchema = Record<string, unknown>;

/** `path` is an array of segments; `[]` is the whole payload; array indexes stay numbers. */
export interface Issue {
  path: (string | number)[];
  message: string;
}

export type Parsed = { ok: true; value: unknown } | { ok: false; issues: Issue[] };

export function isSchema(value: unknown): value is AnySchema {
  return typeof value === 'object' && value !== null && (isZod4(value) || isZod3(value));
}

export async function parseWith(schema: AnySchema, value: unknown): Promise<Parsed> {
  return toParsed(await schema.safeParseAsync(value));
}

/** The same without waiting. Undefined: something in the schema is async. */
export function parseAtOnce(schema: AnySchema, value: unknown): Parsed | undefined {
  try {
    return toParsed(schema.safeParse(value));
  } catch (error) {
    if (error instanceof Error && ASYNC.test(error.message)) return undefined;
    throw error;
  }
}

/** The JSON Schema (draft 7) of what the schema accepts (`input`) or gives (`output`). A date is a `date-time` text. */
export async function toJsonSchema(schema: AnySchema, io: 'input' | 'output'): Promise<JsonSchema> {
  return isZod4(schema) ? fromZod4(schema, io) : fromZod3(schema, io);
}

// --- internal ---

/** An answer is not many times what was sent. */
const MOST_ISSUES = 50;
/** What zod 3 and zod 4 say of a promise where none can be waited for. */
const ASYNC = /during synchronous parse/;

function toParsed(given: unknown): Parsed {
  const result = given as
    | { success: true; data: unknown }
    | { success: false; error: { issues: { path: PropertyKey[]; message: string }[] } };
  if (result.success) return { ok: true, value: result.data };
  const issues = result.error.issues.slice(0, MOST_ISSUES).map(({ path, message }) => ({
    path: path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment)),
    message,
  }));
  return { ok: false, issues };
}

async function fromZod4(schema: AnySchema, io: 'input' | 'output'): Promise<JsonSchema> {
  const { toJSONSchema } = await import('zod');
  return toJSONSchema(schema as never, {
    io,
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'date') Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
    },
  }) as JsonSchema;
}

async function fromZod3(schema: AnySchema, io: 'input' | 'output'): Promise<JsonSchema> {
  const { ignoreOverride, zodToJsonSchema } = await import('zod-to-json-schema');
  return zodToJsonSchema(schema as never, {
    pipeStrategy: io,
    $refStrategy: 'root',
    // An object that only drops unknown members accepts them.
    removeAdditionalStrategy: io === 'input' ? 'strict' : 'passthrough',
    // What a transform gives is not known.
    override: (def) => (io === 'output' && isTransform(def) ? {} : ignoreOverride),
  }) as JsonSchema;
}

function isTransform(def: object): boolean {
  return (def as { effect?: { type?: unknown } }).effect?.type === 'transform';
}

function isZod4(value: object): boolean {
  return '_zod' in value;
}

function isZod3(value: object): boolean {
  const def = (value as { _def?: { typeName?: unknown } })._def;
  return typeof def?.typeName === 'string';
}
