import { isRecord } from './path.ts';

/** A JSON Schema as the box gives it: draft 7 or 2020-12, its `$ref`s within itself. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Member {
  name: string;
  schema: JsonSchema;
  isRequired: boolean;
}

export interface Variant {
  label: string;
  schema: JsonSchema;
}

/** What a form draws for a schema. What is inside is described when it is drawn: a schema may contain itself. */
export type Node = NodeWords &
  (
    | { kind: 'text'; format: string | undefined; isLong: boolean; isSecret: boolean }
    | { kind: 'number'; isWhole: boolean }
    | { kind: 'boolean' }
    | { kind: 'choice'; options: readonly unknown[] }
    | { kind: 'constant'; value: unknown }
    | { kind: 'nullable'; of: JsonSchema }
    | { kind: 'object'; members: readonly Member[] }
    | { kind: 'list'; items: JsonSchema; least: number; most: number }
    | { kind: 'variants'; options: readonly Variant[]; by: string | undefined }
    | { kind: 'json' }
  );

export interface NodeWords {
  /** With its `$ref`s and `allOf`s put together. */
  schema: JsonSchema;
  title: string | undefined;
  description: string | undefined;
}

/** `root` is the whole schema, into which the `$ref`s of its parts point. */
export function describe(schema: unknown, root: JsonSchema): Node {
  const whole = flatten(schema, root);
  const words = { schema: whole, title: textOf(whole['title']), description: textOf(whole['description']) };
  return { ...words, ...describeShape(whole, root) } as Node;
}

/** The schema with what it refers to and consists of put together; one that accepts anything where that cannot be said. */
export function flatten(schema: unknown, root: JsonSchema, hops = 0): JsonSchema {
  if (!isRecord(schema) || hops > MOST_HOPS) return {};
  const { $ref, allOf, ...rest } = schema;
  const parts = [
    ...(typeof $ref === 'string' ? [findRef($ref, root)] : []),
    ...(Array.isArray(allOf) ? (allOf as unknown[]).slice(0, MOST_PARTS) : []),
  ];
  return parts.reduceRight<JsonSchema>((all, part) => merge(flatten(part, root, hops + 1), all), rest);
}

/** The position of the variant that the value is one of; -1: none. */
export function findVariant(node: Extract<Node, { kind: 'variants' }>, value: unknown, root: JsonSchema): number {
  const { options, by } = node;
  return options.findIndex(({ schema }) => {
    const whole = flatten(schema, root);
    if (by === undefined) return isOfType(value, whole['type']);
    return isRecord(value) && constantOf(membersOf(whole)[by], root) === value[by];
  });
}

/** What a form begins with: defaults, and what has only one value. Undefined: it is for the person to say. */
export function initialOf(schema: unknown, root: JsonSchema, depth = 0): unknown {
  const node = describe(schema, root);
  if (node.schema['default'] !== undefined) return structuredClone(node.schema['default']);
  if (depth > MOST_DEPTH) return undefined;
  if (node.kind === 'constant') return node.value;
  if (node.kind === 'boolean') return false;
  if (node.kind === 'nullable') return null;
  if (node.kind === 'list')
    return Array.from({ length: Math.min(node.least, MOST_FILLED) }, () => initialOf(node.items, root, depth + 1));
  if (node.kind !== 'object') return undefined;
  const members = node.members.flatMap(({ name, schema: inner, isRequired }) => {
    const hasDefault = flatten(inner, root)['default'] !== undefined;
    const value = isRequired || hasDefault ? initialOf(inner, root, depth + 1) : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(members);
}

/** What a value is called where one of several is chosen. */
export function labelOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

// --- internal ---

const MOST_HOPS = 16;
const MOST_PARTS = 32;
const MOST_OPTIONS = 500;
const MOST_DEPTH = 8;
const MOST_FILLED = 20;
/** Texts that may be longer than this are written in a box of several lines. */
const LINE = 200;

const SCALARS = new Set(['string', 'number', 'integer', 'boolean']);

type Shape = Node extends infer N ? (N extends Node ? Omit<N, keyof NodeWords> : never) : never;

function describeShape(schema: JsonSchema, root: JsonSchema): Shape {
  if ('const' in schema) return { kind: 'constant', value: schema['const'] };
  if (Array.isArray(schema['enum'])) return toChoice(schema['enum'] as unknown[]);
  const options = [schema['anyOf'], schema['oneOf']].find((each) => Array.isArray(each)) as unknown[] | undefined;
  if (options) return describeOptions(schema, options.slice(0, MOST_OPTIONS), root);
  const type = schema['type'];
  return Array.isArray(type) ? describeTypes(schema, type as unknown[]) : describeType(schema, type);
}

function describeType(schema: JsonSchema, type: unknown): Shape {
  switch (type) {
    case 'string':
      return describeText(schema);
    case 'number':
    case 'integer':
      return { kind: 'number', isWhole: type === 'integer' };
    case 'boolean':
      return { kind: 'boolean' };
    case 'null':
      return { kind: 'constant', value: null };
    case 'array':
      return describeList(schema);
    case 'object':
      return describeObject(schema);
    default:
      return isRecord(schema['properties']) ? describeObject(schema) : { kind: 'json' };
  }
}

function describeText(schema: JsonSchema): Shape {
  const format = textOf(schema['format']);
  const most = numberOf(schema['maxLength']) ?? Infinity;
  return {
    kind: 'text',
    format,
    isLong: format === undefined && schema['pattern'] === undefined && most > LINE,
    isSecret: format === 'password' || schema['writeOnly'] === true,
  };
}

function describeList(schema: JsonSchema): Shape {
  const { items } = schema;
  // A list of places that each have a schema of their own is written as JSON.
  if (!isRecord(items) || Array.isArray(schema['prefixItems'])) return { kind: 'json' };
  const least = numberOf(schema['minItems']) ?? 0;
  return { kind: 'list', items, least, most: numberOf(schema['maxItems']) ?? Infinity };
}

function describeObject(schema: JsonSchema): Shape {
  const members = Object.entries(membersOf(schema)).filter((entry): entry is [string, JsonSchema] =>
    isRecord(entry[1]),
  );
  // One whose members have any name is written as JSON.
  if (members.length === 0 && schema['additionalProperties'] !== false) return { kind: 'json' };
  if (members.length > MOST_OPTIONS) return { kind: 'json' };
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  return {
    kind: 'object',
    members: members.map(([name, inner]) => ({ name, schema: inner, isRequired: required.includes(name) })),
  };
}

function describeTypes(schema: JsonSchema, types: readonly unknown[]): Shape {
  const real = types.filter((type) => type !== 'null');
  const { type: _, ...rest } = schema;
  if (real.length < types.length) {
    const { default: __, ...inner } = rest;
    return { kind: 'nullable', of: { ...inner, type: real.length === 1 ? real[0] : real } };
  }
  if (real.length === 1) return describeType(schema, real[0]);
  return toVariants(real.map((type) => ({ type })));
}

function describeOptions(schema: JsonSchema, options: readonly unknown[], root: JsonSchema): Shape {
  const { anyOf: _, oneOf: __, default: ___, title, description, ...around } = schema;
  const words = { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
  const whole = options.map((option) => merge(flatten(option, root), around));
  const real = whole.filter((option) => option['type'] !== 'null' && option['const'] !== null);
  const [only] = real;
  if (real.length < whole.length)
    return { kind: 'nullable', of: real.length === 1 && only ? { ...only, ...words } : { ...words, anyOf: real } };
  if (real.length === 1 && only) return describeShape(only, root);
  const values = real.flatMap((option) =>
    'const' in option ? [option['const']] : ((option['enum'] as unknown[]) ?? []),
  );
  const isChoice = real.every((option) => 'const' in option || Array.isArray(option['enum']));
  if (isChoice && values.length > 0) return toChoice(values);
  const by = findDiscriminator(real, root);
  if (by === undefined) return toVariants(real);
  const labelled = real.map((option) => ({
    label: textOf(option['title']) ?? labelOf(constantOf(membersOf(option)[by], root)),
    schema: option,
  }));
  return { kind: 'variants', options: labelled, by };
}

/** The member by whose one value the objects are distinguished. */
function findDiscriminator(options: readonly JsonSchema[], root: JsonSchema): string | undefined {
  const [first] = options;
  return Object.keys(membersOf(first ?? {})).find((name) => {
    const values = options.map((option) => constantOf(membersOf(option)[name], root));
    return values.every((value) => value !== undefined) && new Set(values).size === options.length;
  });
}

/** What is of several types, each of which is there once. Others are written as JSON. */
function toVariants(options: readonly JsonSchema[]): Shape {
  const types = options.map(({ type }) => (type === 'integer' ? 'number' : type));
  const isClear = types.every((type) => typeof type === 'string') && new Set(types).size === types.length;
  if (!isClear) return { kind: 'json' };
  const label = ({ title, type }: JsonSchema) => textOf(title) ?? TYPE_LABELS[type as string] ?? String(type);
  return { kind: 'variants', options: options.map((schema) => ({ label: label(schema), schema })), by: undefined };
}

const TYPE_LABELS: Record<string, string> = {
  string: 'Text',
  number: 'Number',
  integer: 'Number',
  boolean: 'Yes or no',
  array: 'List',
  object: 'Object',
};

function toChoice(options: unknown[]): Shape {
  return options.length > MOST_OPTIONS ? { kind: 'json' } : { kind: 'choice', options };
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isRecord(value);
  return SCALARS.has(type as string) && typeof value === (type === 'integer' ? 'number' : type);
}

function constantOf(schema: unknown, root: JsonSchema): unknown {
  const whole = flatten(schema, root);
  if ('const' in whole) return whole['const'];
  const { enum: values } = whole;
  return Array.isArray(values) && values.length === 1 ? (values as unknown[])[0] : undefined;
}

function membersOf({ properties }: JsonSchema): Record<string, unknown> {
  return isRecord(properties) ? properties : {};
}

function findRef(ref: string, root: JsonSchema): unknown {
  if (!ref.startsWith('#')) return {};
  let at: unknown = root;
  for (const segment of ref.slice(1).split('/').slice(1)) {
    const name = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return {};
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Both hold: members and what is required of both, else what the second says. */
function merge(one: JsonSchema, two: JsonSchema): JsonSchema {
  const both = { ...one, ...two };
  const properties = { ...membersOf(one), ...membersOf(two) };
  const required = [one['required'], two['required']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  return {
    ...both,
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
