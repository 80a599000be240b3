import { expect, it } from 'vitest';
import { z } from 'zod';
import { check } from './check.ts';
import { placeIssues, readIssues } from './issues.ts';
import { keyOf } from './path.ts';
import type { JsonSchema } from './schema.ts';

const SCHEMA = z.toJSONSchema(
  z.strictObject({
    name: z.string().min(2).max(5),
    age: z.int().min(18).max(99).optional(),
    color: z.enum(['red', 'blue']).optional(),
    note: z.string().nullable().optional(),
    lines: z
      .array(z.object({ quantity: z.number().gt(0) }))
      .min(1)
      .max(2)
      .optional(),
    pay: z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('card'), number: z.string() }),
        z.object({ type: z.literal('cash') }),
      ])
      .optional(),
    any: z.unknown(),
  }),
  { io: 'input', target: 'draft-7' },
) as JsonSchema;

it.each([
  ['nothing is wrong', { name: 'Ada', age: 20, note: null, lines: [{ quantity: 1 }] }, []],
  ['what is required is not there', {}, [[['name'], 'Required.']]],
  ['a text is too short', { name: 'A' }, [[['name'], 'At least 2 characters.']]],
  ['a text is too long', { name: 'Adaline' }, [[['name'], 'At most 5 characters.']]],
  ['a number is too small', { name: 'Ada', age: 7 }, [[['age'], 'At least 18.']]],
  ['a number is not whole', { name: 'Ada', age: 20.5 }, [[['age'], 'Expected a whole number.']]],
  [
    'another type',
    { name: 7, age: 'x' },
    [
      [['name'], 'Expected a text.'],
      [['age'], 'Expected a number.'],
    ],
  ],
  ['none of those there are', { name: 'Ada', color: 'green' }, [[['color'], 'Expected one of red, blue.']]],
  ['too few entries', { name: 'Ada', lines: [] }, [[['lines'], 'At least 1 entry.']]],
  ['inside of a list', { name: 'Ada', lines: [{ quantity: 0 }] }, [[['lines', 0, 'quantity'], 'More than 0.']]],
  ['a member there is not', { name: 'Ada', other: 1 }, [[['other'], 'There is no such member.']]],
  ['no variant', { name: 'Ada', pay: { type: 'x' } }, [[['pay'], 'Expected one of card, cash.']]],
  ['inside of a variant', { name: 'Ada', pay: { type: 'card' } }, [[['pay', 'number'], 'Required.']]],
  ['no object', [], [[[], 'Expected an object.']]],
])('%s', (_, value, issues) =>
  expect(check(SCHEMA, value).map(({ path, message }) => [path, message])).toEqual(issues),
);

it('a pattern is left to the box: one from another author is never run here', () => {
  const schema = { type: 'string', pattern: '^(a+)+$' };
  expect(check(schema, `${'a'.repeat(60)}!`)).toEqual([]);
});

it('there are fifty issues at most, however much is wrong', () => {
  const schema = { type: 'array', items: { type: 'number' } };
  expect(
    check(
      schema,
      Array.from({ length: 10_000 }, () => 'x'),
    ),
  ).toHaveLength(50);
});

it('an issue is shown by its field, or by the nearest that is drawn around it', () => {
  const value = { name: 'Ada', lines: [{ quantity: 1 }], pay: { type: 'card' } };
  const at = (path: (string | number)[]) => [...placeIssues(SCHEMA, value, [{ path, message: 'Wrong' }]).keys()];
  expect(at(['name'])).toEqual([keyOf(['name'])]);
  expect(at(['lines', 0, 'quantity'])).toEqual([keyOf(['lines', 0, 'quantity'])]);
  expect(at(['lines', 7, 'quantity'])).toEqual([keyOf(['lines'])]);
  expect(at(['pay', 'number'])).toEqual([keyOf(['pay', 'number'])]);
  expect(at(['other', 'inner'])).toEqual([keyOf([])]);
  expect(at(['note', 'inner'])).toEqual([keyOf(['note'])]);
});

it('issues are read out of a refusal, and nothing else is', () => {
  expect(readIssues({ issues: [{ path: ['a'], message: 'Wrong' }, { path: 'a' }, null] })).toEqual([
    { path: ['a'], message: 'Wrong' },
  ]);
  expect(readIssues({ issues: [] })).toBeUndefined();
  expect(readIssues(undefined)).toBeUndefined();
});
