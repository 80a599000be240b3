import { describe, expect, test } from 'vitest';
import { compileJsonSchema, createSchemaReader } from './compile.ts';

const isFit = (schema: unknown, value: unknown): boolean => compileJsonSchema(schema)(value) === undefined;
const CONDITION = `{
  "if": { "properties": { "to": { "const": "other" } }, "required": ["to"] },
  "then": { "required": ["why"] },
  "else": { "maxProperties": 1 }
}`;
const nested = (levels: number): unknown => (levels === 0 ? 1 : { child: nested(levels - 1) });

describe('a value', () => {
  test.each<[string, unknown, unknown[], unknown[]]>([
    [
      'keywords without a type',
      { properties: { n: { maximum: 3 } }, minLength: 2 },
      [{ n: 3 }, 9, 'ab', {}],
      [{ n: 4 }, 'a'],
    ],
    ['types', { type: ['integer', 'null'] }, [1, 1.0, null], [1.5, '1', true, [], {}]],
    ['what it may be', { enum: [{ a: 1, b: [2] }, 'x'] }, [{ b: [2], a: 1 }, 'x'], [{ a: 1 }, 'X', ['x']]],
    ['a constant', { const: null }, [null], [0, undefined]],
    ['bounds', { minimum: 1, exclusiveMaximum: 3 }, [1, 2.9, 'x'], [0.9, 3]],
    ['bounds of draft 4', { minimum: 1, exclusiveMinimum: true }, [1.1], [1]],
    ['multiples', { multipleOf: 0.1 }, [0.3, 4, 1e300, -0.7, 0], [0.35, 1e-7, Infinity]],
    ['multiples of whole numbers', { multipleOf: 2 }, [4, 1e21, 'x'], [1_000_000_000_000_001, 2.5]],
    ['multiples of small ones', { multipleOf: 1e-9 }, [0.000000003, 12345.000000002], [0.0000000015]],
    ['lengths as people count', { minLength: 2, maxLength: 3 }, ['ab', '😀😀😀'], ['a', '😀', 'abcd']],
    ['patterns', { pattern: '^\\d{3}$' }, ['123', 5], ['12', '1234']],
    ['formats', { format: 'email' }, ['ada@example.com', 1], ['ada']],
    ['formats that are not known', { format: 'colour' }, ['anything'], []],
    ['required members', { required: ['a'] }, [{ a: undefined }, [], 'x'], [{}, { b: 1 }]],
    ['other members', { properties: { a: true }, additionalProperties: false }, [{ a: 1 }], [{ b: 1 }]],
    [
      'members by pattern',
      { patternProperties: { '^n_': { type: 'number' } }, additionalProperties: { type: 'string' } },
      [{ n_a: 1, other: 'x' }],
      [{ n_a: 'x' }, { other: 1 }],
    ],
    [
      'names',
      { propertyNames: { maxLength: 2 }, minProperties: 1, maxProperties: 2 },
      [{ ab: 1 }],
      [{}, { abc: 1 }, { a: 1, b: 2, c: 3 }],
    ],
    ['what else has to be there', { dependentRequired: { card: ['name'] } }, [{}, { card: 1, name: 2 }], [{ card: 1 }]],
    [
      'what else has to fit',
      { dependentSchemas: { card: { properties: { name: { type: 'string' } } } }, dependencies: { a: ['b'] } },
      [{ name: 1 }, { a: 1, b: 1 }],
      [{ card: 1, name: 1 }, { a: 1 }],
    ],
    ['items', { items: { type: 'number' }, minItems: 1, maxItems: 2 }, [[1], {}], [[], ['x'], [1, 2, 3]]],
    ['items by place', { prefixItems: [{ type: 'string' }], items: false }, [[], ['a']], [[1], ['a', 'b']]],
    [
      'items by place in draft 7',
      { items: [{ type: 'string' }], additionalItems: { type: 'number' } },
      [['a', 1]],
      [['a', 'b']],
    ],
    [
      'items that are there',
      { contains: { const: 1 }, maxContains: 2 },
      [
        [0, 1],
        [1, 1],
      ],
      [[0], [1, 1, 1]],
    ],
    [
      'items that differ',
      { uniqueItems: true },
      [[1, '1', { a: 1 }]],
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    ],
    ['all of several', { allOf: [{ minimum: 1 }, { maximum: 3 }], type: 'number' }, [2], [0, 4, 'x']],
    ['one or more of several', { anyOf: [{ type: 'string' }, { minimum: 3 }], maxLength: 2 }, ['ab', 3], [2, 'abc']],
    ['one of several', { oneOf: [{ minimum: 1 }, { minimum: 3 }] }, [1], [3, 0]],
    [
      'what it may not be',
      { not: { properties: { role: { const: 'admin' } }, required: ['role'] } },
      [{}, { role: 'x' }],
      [{ role: 'admin' }],
    ],
    [
      'a condition',
      JSON.parse(CONDITION),
      [{ to: 'other', why: 1 }, { to: 'x' }],
      [{ to: 'other' }, { to: 'x', why: 1 }],
    ],
    [
      'references, beside other keywords',
      { $defs: { 'a/b': { type: 'number' } }, $ref: '#/$defs/a~1b', maximum: 3 },
      [1],
      [4, 'x'],
    ],
    [
      'a reference to itself',
      { properties: { child: { $ref: '#' }, n: { type: 'number' } } },
      [{ child: { n: 1 } }],
      [{ child: { child: { n: 'x' } } }],
    ],
    ['yes and no', { properties: { a: true, b: false } }, [{ a: 1 }], [{ b: 1 }]],
    [
      'names that objects have by themselves',
      { properties: { constructor: { type: 'number' } }, required: ['toString'] },
      [{ toString: 1 }],
      [{}],
    ],
  ])('is judged by %s', (_, schema, fits, misfits) => {
    for (const value of fits) expect([value, isFit(schema, value)]).toEqual([value, true]);
    for (const value of misfits) expect([value, isFit(schema, value)]).toEqual([value, false]);
  });

  test('does not fit at a place, which has no name that the schema has not', () => {
    const judge = compileJsonSchema({
      properties: { a: { items: { properties: { n: { type: 'number' } } } } },
      additionalProperties: { maxLength: 1 },
    });
    expect(judge({ a: [{}, { n: 'x' }] })).toEqual({ path: ['a', 1, 'n'], why: 'is no number' });
    expect(judge({ 'my secret': 'long' })).toEqual({ path: ['*'], why: 'is longer than 1' });
  });
});

describe('a schema', () => {
  test.each([
    [{ type: 'nothing' }, '"type" knows'],
    [{ multipleOf: 0 }, '"multipleOf" has to be a number above 0'],
    [{ multipleOf: -2 }, '"multipleOf" has to be a number above 0'],
    [{ properties: { a: 3 } }, '"properties.a" has to be a schema'],
    [{ required: 'a' }, '"required" has to be a list of names'],
    [{ maxLength: -1 }, '"maxLength" has to be a whole number'],
    [{ anyOf: [] }, '"anyOf" has to be a list of schemas'],
    [{ pattern: 'a(?=b)' }, '"pattern" is no regular expression without lookaround'],
    [{ patternProperties: { '(a)\\1': {} } }, '"patternProperties" is no regular expression'],
    [{ $ref: 'https://example.com/a' }, '"$ref" has to lead to a part of the schema'],
    [{ $ref: '#/$defs/none' }, '"$ref" points to nothing'],
    [{ unevaluatedProperties: false }, '"unevaluatedProperties" is not known here'],
    ['text', 'has to be a schema'],
  ])('that cannot be kept to is refused: %j', (schema, why) => {
    expect(() => compileJsonSchema(schema)).toThrow(why);
  });

  test.each<[string, unknown, unknown]>([
    [
      'that branches at each level',
      {
        anyOf: [
          { properties: { child: { $ref: '#' } }, required: ['no'] },
          { properties: { child: { $ref: '#' } }, required: ['no'] },
        ],
      },
      nested(40),
    ],
    ...['const', 'minLength', 'maxLength', 'pattern'].map((keyword): [string, unknown, unknown] => {
      const limit = { const: 'x', pattern: 'x', minLength: 2_000_000, maxLength: 600_000 }[keyword];
      return [
        `that reads a long text ten thousand times by "${keyword}"`,
        { anyOf: Array.from({ length: 9_000 }, () => ({ [keyword]: limit })) },
        'a'.repeat(1_000_000),
      ];
    }),
    ['that only refers to itself', { $ref: '#' }, 1],
    ['of a value that is nested without end', { properties: { child: { $ref: '#' } } }, nested(5_000)],
  ])('%s ends', (_, schema, value) => {
    const from = performance.now();
    expect(() => compileJsonSchema(schema)(value)).toThrow(RangeError);
    expect(performance.now() - from).toBeLessThan(60_000);
  });

  test('spends more on a number that only long division decides', () => {
    const judge = compileJsonSchema({ items: { multipleOf: 0.01 } });
    const list = (value: number): number[] => Array.from({ length: 200_000 }, () => value);
    expect(judge(list(12.34))).toBeUndefined();
    expect(() => judge(list(1e300))).toThrow(RangeError);
  });

  test('is read once, however often it is asked for', () => {
    const read = createSchemaReader();
    const first = read({ type: 'string', pattern: '^a+$' });
    expect(read({ type: 'string', pattern: '^a+$' })).toBe(first);
    expect(read({ type: 'string' })).not.toBe(first);
  });

  test('judges a megabyte of items, and of names, in a time that grows with it', () => {
    const schema = {
      items: { type: 'number' },
      uniqueItems: false,
      additionalProperties: { pattern: '^(a+)+$' },
      contains: { const: 1 },
    };
    expect(
      isFit(
        schema,
        Array.from({ length: 400_000 }, () => 1),
      ),
    ).toBe(true);
    expect(isFit(schema, { a: `${'a'.repeat(900_000)}!` })).toBe(false);
    expect(
      isFit(
        { uniqueItems: true },
        Array.from({ length: 100_000 }, (_, n) => ({ n })),
      ),
    ).toBe(true);
  });
});
