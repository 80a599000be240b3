import { describe, expect, it } from 'vitest';
import {
  array,
  boolean,
  constant,
  extend,
  nullable,
  object,
  oneOf,
  optional,
  string,
  union,
} from '../src/payload/payload.ts';
import { defineVerb } from '../src/verb.ts';

const PAYLOAD = object({
  name: string('The name.'),
  kind: oneOf(['a', 'b'], 'Which.'),
  at: nullable(object({ line: string() }, 'Where.')),
  tags: optional(array(string())),
});
const VERB = { examples: ['svc x', 'svc x --json'], args: {}, payload: PAYLOAD } as const;
const [A, B] = ['a', 'b'] as const;
const human = () => '';

describe('a payload', () => {
  it('is JSON Schema', async () => {
    expect(await PAYLOAD.toSchema(async () => ({}))).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name.' },
        kind: { type: 'string', enum: ['a', 'b'], description: 'Which.' },
        at: {
          anyOf: [
            {
              type: 'object',
              properties: { line: { type: 'string' } },
              required: ['line'],
              additionalProperties: false,
            },
            { type: 'null' },
          ],
          description: 'Where.',
        },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['name', 'kind', 'at'],
      additionalProperties: false,
    });
  });

  it('that is one of several is extended in each', async () => {
    const either = union(object({ left: boolean() }), object({ right: boolean() }));
    const { anyOf = [] } = await extend(either, { type: constant('x') }).toSchema(async () => ({}));
    expect(anyOf.map(({ required }) => required)).toEqual([
      ['type', 'left'],
      ['type', 'right'],
    ]);
  });

  // Read by the compiler: what it lets through here fails `tsc`.
  it('is what the compiler holds the data of its verb to', () => {
    defineVerb({ ...VERB, run: async () => ({ data: { name: 'x', kind: A, at: null, tags: ['y'] }, human }) });
    defineVerb({ ...VERB, run: async () => ({ data: { name: 'x', kind: B, at: { line: '1' } }, human }) });
    // @ts-expect-error: `at` is missing
    defineVerb({ ...VERB, run: async () => ({ data: { name: 'x', kind: A }, human }) });
    // @ts-expect-error: `name` is a text
    defineVerb({ ...VERB, run: async () => ({ data: { name: 1, kind: A, at: null }, human }) });
    // @ts-expect-error: there is no kind "c"
    defineVerb({ ...VERB, run: async () => ({ data: { name: 'x', kind: 'c', at: null }, human }) });
    // @ts-expect-error: `more` is not in the payload
    defineVerb({ ...VERB, run: async () => ({ data: { name: 'x', kind: A, at: null, more: 1 }, human }) });
    // @ts-expect-error: `at.column` is not in the payload
    defineVerb({ ...VERB, run: async () => ({ data: { name: 'x', kind: A, at: { line: '1', column: 1 } }, human }) });
  });
});
