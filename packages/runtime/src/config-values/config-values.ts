import { z } from 'zod';
import { BoxError } from '../errors.ts';
import type { Problem, Program } from '../manifest.ts';
import { parseWith } from '../schema/schema.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createRecent } from '../stores/recent.ts';
import { describeIssues, loadDeclared, NONE, readDefault } from './declared.ts';
import type { DeclaredKey } from './declared.ts';
import { createConfigStore } from './store.ts';
import type { ConfigRevision, ConfigStore } from './store.ts';

/** A key of the dynamic configuration as every surface shows it. */
export const ConfigValue = z.object({
  key: z.string(),
  description: z.string().nullable(),
  value: z.unknown().describe('What is in force'),
  default: z.unknown(),
  isSet: z.boolean().describe('False: the default is in force'),
  type: z.record(z.string(), z.unknown()).describe('JSON Schema of the value'),
  revision: z.int().describe('Counts the changes; 0: it was never set'),
  problem: z
    .string()
    .nullable()
    .describe('Why the value that was set is not used: it does not fit the schema any more'),
  changedBy: z.string().nullable(),
  changedAt: z.iso.datetime().nullable(),
});
export type ConfigValue = z.infer<typeof ConfigValue>;

export interface ConfigChange {
  by: string;
  /** The revision the caller has seen. Undefined: whatever it is. */
  revision?: number | undefined;
}

/** Whatever takes a key throws `config_key_not_found` for one that `config.schema.ts` does not declare. */
export interface ConfigValues {
  /** Takes the keys of an edited program. */
  load(program: Program): Promise<void>;
  /** What is wrong with `config.schema.ts`. */
  problems(): Problem[];
  list(): Promise<ConfigValue[]>;
  get(key: string): Promise<ConfigValue>;
  /** Throws `config_value_invalid`, and `revision_conflict`. */
  set(key: string, value: unknown, change: ConfigChange): Promise<ConfigValue>;
  /** Drops the value, so that the default is in force. One that is not set stays as it is. */
  unset(key: string, change: ConfigChange): Promise<ConfigValue>;
  /** Newest first. Throws `invalid_cursor`. */
  history(key: string, page: { limit: number; cursor?: string }): ReturnType<ConfigStore['list']>;
  /** What code is given. A change is seen at once here, and by any replica within 5 s. */
  read(key: string): Promise<unknown>;
  close(): Promise<void>;
}

export interface ConfigValuesOptions {
  db: Drizzle;
  kv?: KeyValueStore | undefined;
  isBlank?(): boolean;
  /** Asked once, when a key is first needed: also while agents and workflows are held back. */
  loadProgram(): Promise<Program>;
}

export function createConfigValues({ db, kv, loadProgram, isBlank = () => false }: ConfigValuesOptions): ConfigValues {
  const store = createConfigStore(db);
  const newest = createRecent({
    topic: 'config',
    kv,
    read: async (key) => (isBlank() ? undefined : store.findNewest(key)),
  });
  let declared = NONE;
  let loading: Promise<void> | undefined;
  const load = async (program: Program): Promise<void> => {
    declared = await loadDeclared(program, declared);
  };
  const ensure = (): Promise<void> => {
    loading ??= loadProgram().then(load);
    loading.catch(() => (loading = undefined));
    return loading;
  };
  const find = async (key: string): Promise<DeclaredKey> => {
    await ensure();
    const found = declared.keys.get(key);
    if (found) return found;
    throw unknownKey(key, [...declared.keys.keys()]);
  };
  /** Adds a revision after the newest one, however many others do. */
  const change = async (key: DeclaredKey, next: { isSet: boolean; value: unknown }, how: ConfigChange) => {
    for (;;) {
      const last = await store.findNewest(key.key);
      const revision = last?.revision ?? 0;
      if (how.revision !== undefined && how.revision !== revision) throw conflict(key.key, how.revision, revision);
      if (!next.isSet && last?.isSet !== true) return toValue(key, last);
      const added = await store.add({ key: key.key, revision: revision + 1, ...next, by: how.by });
      if (!added) continue;
      await newest.changed(key.key);
      return toValue(key, added);
    }
  };
  return {
    load(program) {
      loading = load(program);
      return loading;
    },
    problems: () => (declared.problem ? [declared.problem] : []),
    async list() {
      await ensure();
      const revisions = await store.listNewest();
      const keys = [...declared.keys.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
      return Promise.all(keys.map((key) => toValue(key, revisions.get(key.key))));
    },
    get: async (key) => toValue(await find(key), await store.findNewest(key)),
    async set(key, value, how) {
      const found = await find(key);
      await checkValue(found, value);
      return change(found, { isSet: true, value }, how);
    },
    unset: async (key, how) => change(await find(key), { isSet: false, value: null }, how),
    async history(key, page) {
      await find(key);
      return store.list(key, page);
    },
    async read(key) {
      const found = await find(key);
      return (await resolve(found, await newest.get(key))).value;
    },
    close: () => newest.close(),
  };
}

// --- internal ---

/** What is in force: what was set, where it still fits; else the default. */
async function resolve(
  key: DeclaredKey,
  last: ConfigRevision | undefined,
): Promise<{ value: unknown; problem: string | null }> {
  if (!last?.isSet) return { value: await readDefault(key), problem: null };
  // A copy: a schema may hand on what it was given, and code may change it.
  const parsed = await parseWith(key.schema, structuredClone(last.value));
  if (parsed.ok) return { value: parsed.value, problem: null };
  const problem = `The value that was set does not fit the schema any more, so the default is used. ${describeIssues(parsed.issues)}`;
  return { value: await readDefault(key), problem };
}

async function toValue(declared: DeclaredKey, last: ConfigRevision | undefined): Promise<ConfigValue> {
  const { key, type, description } = declared;
  const { value, problem } = await resolve(declared, last);
  const isUsed = last?.isSet === true && problem === null;
  return {
    key,
    description,
    // As it was set: what a schema makes of it need not be JSON.
    value: isUsed ? last.value : toJson(value),
    default: toJson(await readDefault(declared)),
    isSet: last?.isSet ?? false,
    type,
    revision: last?.revision ?? 0,
    problem,
    changedBy: last?.changedBy ?? null,
    changedAt: last?.changedAt ?? null,
  };
}

/** How much a value may hold: it is read again and again. */
const MAX_BYTES = 64 * 1_024;

async function checkValue({ key, schema }: DeclaredKey, value: unknown): Promise<void> {
  let isKept = true;
  const text = JSON.stringify(value, (name, item: unknown) => {
    if (name.includes('\0') || (typeof item === 'string' && item.includes('\0'))) isKept = false;
    return item;
  });
  const parsed = await parseWith(schema, structuredClone(value));
  const issues = parsed.ok ? [] : parsed.issues;
  if (!isKept) issues.push({ path: [], message: 'It must not hold the character U+0000' });
  if (Buffer.byteLength(text) > MAX_BYTES) issues.push({ path: [], message: `It has more than ${MAX_BYTES} bytes` });
  if (issues.length === 0) return;
  throw new BoxError('config_value_invalid', `The value does not fit "${key}". ${describeIssues(issues)}.`, {
    details: { issues },
  });
}

function toJson(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value) ?? 'null') as unknown);
}

function unknownKey(key: string, known: readonly string[]): BoxError {
  const names = known.map((name) => `"${name}"`).join(', ');
  const has = known.length > 0 ? `config.schema.ts declares ${names}` : 'config.schema.ts declares none';
  return new BoxError('config_key_not_found', `There is no configuration key "${key}": ${has}.`);
}

function conflict(key: string, seen: number, revision: number): BoxError {
  const message = `"${key}" is at revision ${revision}, not ${seen}: it has been changed. Read it again, then set it with that revision.`;
  return new BoxError('revision_conflict', message, { details: { revision } });
}
