import { problemOf } from '../manifest.ts';
import type { LoadedModule, Problem, Program } from '../manifest.ts';
import { parseWith, toJsonSchema } from '../schema/schema.ts';
import type { AnySchema, Issue, JsonSchema } from '../schema/schema.ts';
import { checkDynamicConfig } from './define.ts';

/** One key of `config.schema.ts`. */
export interface DeclaredKey {
  key: string;
  schema: AnySchema;
  type: JsonSchema;
  /** What it is for, as the schema says. */
  description: string | null;
}

export interface Declared {
  keys: ReadonlyMap<string, DeclaredKey>;
  problem?: Problem;
}

export const NONE: Declared = { keys: new Map() };

/** The keys of a program. A file that does not load leaves the last good ones in force. */
export async function loadDeclared({ manifest, load }: Program, last: Declared): Promise<Declared> {
  const entry = manifest.configSchema;
  if (!entry) return NONE;
  if (entry.problem) return { keys: last.keys, problem: entry.problem };
  try {
    return { keys: await toKeys(entry.file, await load(entry.file)) };
  } catch (error) {
    return { keys: last.keys, problem: problemOf(error, entry.file) };
  }
}

/** The default of a key. */
export async function readDefault({ key, schema }: DeclaredKey): Promise<unknown> {
  const parsed = await parseWith(schema, undefined);
  if (parsed.ok) return parsed.value;
  throw new TypeError(`"${key}" has no default. Give its schema one: .default(...).`);
}

/** What is wrong with the issues of a value, as a sentence. */
export function describeIssues(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message)).join('; ');
}

// --- internal ---

async function toKeys(file: string, { exports }: LoadedModule): Promise<Map<string, DeclaredKey>> {
  const schemas: unknown = exports['default'];
  if (schemas === undefined)
    throw new TypeError(`"${file}" has no default export. Write: export default defineDynamicConfig({ ... }).`);
  try {
    checkDynamicConfig(schemas);
    const keys = await Promise.all(Object.entries(schemas).map(([key, schema]) => toKey(key, schema)));
    return new Map(keys.map((one) => [one.key, one]));
  } catch (error) {
    throw new TypeError(`The default export of "${file}": ${(error as Error).message}`, { cause: error });
  }
}

async function toKey(key: string, schema: AnySchema): Promise<DeclaredKey> {
  const { $schema: _dropped, description, ...rest } = await toJsonSchema(schema, 'input');
  const text = typeof description === 'string' ? description : null;
  const declared = { key, schema, type: rest, description: text };
  await readDefault(declared);
  return declared;
}
