import { expect, it } from 'vitest';
import { z } from 'zod';
import { describe as describeNode, findVariant, initialOf } from './schema.ts';
import type { JsonSchema, Node } from './schema.ts';

const toSchema = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' }) as JsonSchema;
const nodeOf = (schema: z.ZodType): Node => describeNode(toSchema(schema), toSchema(schema));

it.each([
  ['a text', z.string(), { kind: 'text', isLong: true }],
  ['a short text', z.string().max(80), { kind: 'text', isLong: false }],
  ['an address', z.email(), { kind: 'text', format: 'email', isLong: false }],
  ['a number', z.number(), { kind: 'number', isWhole: false }],
  ['a whole number', z.int(), { kind: 'number', isWhole: true }],
  ['yes or no', z.boolean(), { kind: 'boolean' }],
  ['one of some', z.enum(['a', 'b']), { kind: 'choice', options: ['a', 'b'] }],
  ['one of some literals', z.literal(['a', 1]), { kind: 'choice', options: ['a', 1] }],
  ['one value', z.literal('only'), { kind: 'constant', value: 'only' }],
  ['nothing', z.null(), { kind: 'constant', value: null }],
  ['a union of literals', z.union([z.literal('a'), z.literal('b')]), { kind: 'choice', options: ['a', 'b'] }],
  ['a list', z.array(z.string()).min(1).max(3), { kind: 'list', least: 1, most: 3 }],
  ['a text or nothing', z.string().nullable(), { kind: 'nullable', of: { type: 'string' } }],
  ['an object or nothing', z.object({ a: z.string() }).nullable(), { kind: 'nullable', of: { type: 'object' } }],
  ['anything', z.unknown(), { kind: 'json' }],
  ['an object of any members', z.record(z.string(), z.number()), { kind: 'json' }],
  ['places of their own', z.tuple([z.string(), z.number()]), { kind: 'json' }],
  ['two kinds of list', z.union([z.array(z.string()), z.array(z.number())]), { kind: 'json' }],
])('%s', (_, schema, node) => expect(nodeOf(schema)).toMatchObject(node));

it('an object has its members, with what is required', () => {
  const node = nodeOf(z.object({ name: z.string().describe('Who'), age: z.int().optional() }));
  expect(node).toMatchObject({
    kind: 'object',
    members: [
      { name: 'name', isRequired: true },
      { name: 'age', isRequired: false },
    ],
  });
});

it('objects are distinguished by the member that has one value in each', () => {
  const schema = toSchema(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('card'), number: z.string() }),
      z.object({ type: z.literal('cash') }),
    ]),
  );
  const node = describeNode(schema, schema) as Extract<Node, { kind: 'variants' }>;
  expect(node).toMatchObject({ kind: 'variants', by: 'type', options: [{ label: 'card' }, { label: 'cash' }] });
  expect(findVariant(node, { type: 'cash' }, schema)).toBe(1);
  expect(findVariant(node, { type: 'other' }, schema)).toBe(-1);
  expect(initialOf(node.options[0]?.schema, schema)).toEqual({ type: 'card' });
});

it('a text or a number is distinguished by what it is', () => {
  const schema = toSchema(z.union([z.string(), z.number()]));
  const node = describeNode(schema, schema) as Extract<Node, { kind: 'variants' }>;
  expect(node.options.map(({ label }) => label)).toEqual(['Text', 'Number']);
  expect(findVariant(node, 7, schema)).toBe(1);
});

it('what a schema refers to is found, within itself too', () => {
  const Tree = z.object({
    name: z.string(),
    get children() {
      return z.array(Tree);
    },
  });
  const schema = toSchema(Tree);
  const node = describeNode(schema, schema) as Extract<Node, { kind: 'object' }>;
  const list = describeNode(node.members[1]?.schema, schema) as Extract<Node, { kind: 'list' }>;
  expect(describeNode(list.items, schema)).toMatchObject({ kind: 'object', members: [{ name: 'name' }, {}] });
  expect(initialOf(schema, schema)).toEqual({ children: [] });
});

it('a schema that refers to nothing but itself is written as JSON', () => {
  const schema = { definitions: { a: { $ref: '#/definitions/b' }, b: { $ref: '#/definitions/a' } } };
  expect(describeNode({ $ref: '#/definitions/a' }, schema)).toMatchObject({ kind: 'json' });
  expect(describeNode({ $ref: 'https://example.com/other.json' }, schema)).toMatchObject({ kind: 'json' });
  expect(describeNode({ $ref: '#/definitions/missing/%E0%A4%A' }, schema)).toMatchObject({ kind: 'json' });
});

it('all of some objects are one object', () => {
  const schema = {
    allOf: [
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] },
    ],
  };
  expect(describeNode(schema, schema)).toMatchObject({
    kind: 'object',
    members: [
      { name: 'a', isRequired: true },
      { name: 'b', isRequired: true },
    ],
  });
});

it('a form begins with defaults, and with what has one value only', () => {
  const schema = toSchema(
    z.object({
      kind: z.literal('refund'),
      count: z.int().default(3),
      note: z.string().optional(),
      name: z.string(),
      isUrgent: z.boolean(),
      parent: z.string().nullable(),
      lines: z.array(z.object({ quantity: z.int().default(1) })).min(2),
      inner: z.object({ color: z.enum(['red', 'blue']).default('red') }),
    }),
  );
  expect(initialOf(schema, schema)).toEqual({
    kind: 'refund',
    count: 3,
    isUrgent: false,
    parent: null,
    lines: [{ quantity: 1 }, { quantity: 1 }],
    inner: { color: 'red' },
  });
});

it('a list of a million required entries begins with few', () => {
  const schema = { type: 'array', items: { type: 'boolean' }, minItems: 1_000_000 };
  expect(initialOf(schema, schema)).toHaveLength(20);
});
