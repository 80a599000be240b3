import type { OperationId, OperationOutput } from '@svc/runtime/client';
import type { Schema } from './schema.ts';

/**
 * A value of a --json document: its type for the compiler and its JSON Schema for everyone else, from one definition.
 * Builders with the names JSON Schema and zod have for them, and no library: a verb is loaded each time it runs.
 */
export interface JsonType<out T> {
  /** `load` answers what an operation of the box answers. */
  toSchema(load: LoadAnswer): Promise<Schema>;
  /** For the compiler alone; no value of this has it. */
  readonly '~type'?: T;
}

export type LoadAnswer = (operation: string) => Promise<Schema>;
export type TypeOf<S> = S extends JsonType<infer T> ? T : never;

/** What is in `Got` and not in `Want`, at any depth, by name. `never`: a value of the one is a document of the other. */
export type Surplus<Got, Want> = unknown extends Want
  ? never
  : Got extends readonly (infer Item)[]
    ? Surplus<Item, ItemOf<Want>>
    : Got extends object
      ?
          | Exclude<keyof Got, KeyOf<Want>>
          | { [K in keyof Got & KeyOf<Want>]: Surplus<Got[K], MemberOf<Want, K>> }[keyof Got & KeyOf<Want>]
      : never;

/** A member that may be absent. */
export type Optional<T> = JsonType<T> & { readonly isOptional: true };

export function string(description?: string, { format }: { format?: 'date-time' } = {}): JsonType<string> {
  return fixed({ type: 'string', ...(format ? { format } : {}) }, description);
}

export function integer(description?: string, range: { minimum?: number; maximum?: number } = {}): JsonType<number> {
  return fixed({ type: 'integer', ...range }, description);
}

export function boolean(description?: string): JsonType<boolean> {
  return fixed({ type: 'boolean' }, description);
}

export function constant<const T extends string | number | boolean>(value: T, description?: string): JsonType<T> {
  return fixed({ const: value }, description);
}

export function oneOf<const T extends string>(values: readonly T[], description?: string): JsonType<T> {
  return fixed({ type: 'string', enum: values }, description);
}

/** Any JSON. */
export function any(description?: string): JsonType<unknown> {
  return fixed({}, description);
}

export function array<T>(item: JsonType<T>, description?: string): JsonType<T[]> {
  return lazy(async (load) => ({ type: 'array', items: await item.toSchema(load) }), description);
}

/** Null too. The description is that of the type. */
export function nullable<T>(type: JsonType<T>): JsonType<T | null> {
  return lazy(async (load) => {
    const { description, ...schema } = await type.toSchema(load);
    return { anyOf: [schema, { type: 'null' }], ...(description === undefined ? {} : { description }) };
  });
}

export function optional<T>(type: JsonType<T>): Optional<T> {
  return { ...type, isOptional: true };
}

/** These members and no others. */
export function object<const M extends Members>(members: M, description?: string): JsonType<ObjectOf<M>> {
  return lazy(
    async (load) => ({ ...(await describeMembers(members, load)), additionalProperties: false }),
    description,
  );
}

/** These members, and any others. */
export function open<const M extends Members>(
  members: M,
  description?: string,
): JsonType<ObjectOf<M> & Record<string, unknown>> {
  return lazy((load) => describeMembers(members, load), description);
}

/** An object of any members, whose type the caller says. */
export function record<T extends object>(description?: string): JsonType<T> {
  return fixed({ type: 'object' }, description);
}

/** What is described as JSON Schema elsewhere. */
export function fromSchema<T>(schema: Schema): JsonType<T> {
  return fixed(schema, undefined);
}

/** One of several: that of the first that fits. */
export function union<S extends readonly JsonType<unknown>[]>(...types: S): JsonType<TypeOf<S[number]>> {
  return lazy(async (load) => ({ anyOf: await Promise.all(types.map((type) => type.toSchema(load))) }));
}

/** What an operation answers. */
export function answerOf<Id extends OperationId>(operation: Id, description?: string): JsonType<OperationOutput<Id>> {
  return lazy((load) => load(operation), description);
}

/** A member of what an operation answers. */
export function memberOf<Id extends OperationId, Name extends keyof OperationOutput<Id> & string>(
  operation: Id,
  name: Name,
): JsonType<OperationOutput<Id>[Name]> {
  return lazy(async (load) => (await load(operation)).properties?.[name] ?? {});
}

/** One of the items an operation answers. */
export function itemOf<Id extends OperationId>(operation: Id): JsonType<ItemsOf<OperationOutput<Id>>> {
  return lazy(async (load) => (await load(operation)).properties?.items?.items ?? {});
}

/** A type with more members. */
export function extend<T, const M extends Members>(type: JsonType<T>, members: M): JsonType<T & ObjectOf<M>> {
  return lazy(async (load) => {
    const added = await describeMembers(members, load);
    return addMembers(await type.toSchema(load), added);
  });
}

/** An object with more members; of several, each. Those that are added come first. */
export function addMembers(schema: Schema, added: Pick<Schema, 'properties' | 'required'>): Schema {
  if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map((one) => addMembers(one, added)) };
  return {
    ...schema,
    properties: { ...added.properties, ...schema.properties },
    required: [...(added.required ?? []), ...(schema.required ?? [])],
  };
}

// --- internal ---

type Members = Record<string, JsonType<unknown>>;
type OptionalKey<M> = { [K in keyof M]: M[K] extends { isOptional: true } ? K : never }[keyof M];
type ObjectOf<M extends Members> = Flat<
  { -readonly [K in Exclude<keyof M, OptionalKey<M>>]: TypeOf<M[K]> } & {
    -readonly [K in OptionalKey<M>]?: TypeOf<M[K]> | undefined;
  }
>;
type Flat<T> = { [K in keyof T]: T[K] };

type ItemsOf<T> = T extends { items: (infer Item)[] } ? Item : never;
/** Of a union, those of each of its parts. */
type KeyOf<T> = T extends unknown ? keyof T : never;
type MemberOf<T, K extends PropertyKey> = T extends unknown ? (K extends keyof T ? T[K] : never) : never;
type ItemOf<T> = T extends readonly (infer Item)[] ? Item : never;

function fixed<T>(schema: Schema, description: string | undefined): JsonType<T> {
  return lazy(async () => schema, description);
}

function lazy<T>(toSchema: JsonType<T>['toSchema'], description?: string): JsonType<T> {
  if (description === undefined) return { toSchema };
  return { toSchema: async (load) => ({ ...(await toSchema(load)), description }) };
}

async function describeMembers(members: Members, load: LoadAnswer): Promise<Schema> {
  const described = Object.entries(members).map(async ([name, type]): Promise<[string, Schema]> => [
    name,
    await type.toSchema(load),
  ]);
  return {
    type: 'object',
    properties: Object.fromEntries(await Promise.all(described)),
    required: Object.keys(members).filter((name) => !('isOptional' in (members[name] ?? {}))),
  };
}
