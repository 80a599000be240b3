import { expect, test } from 'vitest';
import { fromJsonSchema } from './given-schema.ts';
import { parseWith } from './schema.ts';

const text = `${'a'.repeat(50_000)}!`;

test.each([
  ['of a text', { type: 'string', pattern: '^(a+)+$' }, text],
  ['of a member', { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }, { a: text }],
  ['of an item', { type: 'array', items: { type: 'string', pattern: '^(a|aa)+$' } }, [text]],
  ['of one of several', { anyOf: [{ type: 'string', pattern: '^(a+)+$' }, { type: 'number' }] }, text],
  [
    'behind a reference',
    { $defs: { a: { type: 'string', pattern: '^(a+)+$' } }, type: 'object', properties: { a: { $ref: '#/$defs/a' } } },
    { a: text },
  ],
])('a pattern %s takes no time that grows with what it tries', async (_, schema, value) => {
  const result = await parseWith(await fromJsonSchema(schema), value);
  expect(result.ok).toBe(false);
  expect(JSON.stringify(result)).toMatch(/Invalid/);
});

test('names of members run no pattern at all', async () => {
  const schema = { type: 'object', patternProperties: { '^(a+)+$': { type: 'string' } }, additionalProperties: false };
  expect(await parseWith(await fromJsonSchema(schema), { [text]: 1 })).toMatchObject({ ok: true });
});

test('a pattern is checked as it is written, and one that needs more than the engine has is left out', async () => {
  const check = async (pattern: string, value: string) =>
    parseWith(await fromJsonSchema({ type: 'string', pattern }), value);
  expect(await check('^\\d{3}\\/(?<name>x)$', '123/x')).toMatchObject({ ok: true });
  expect(await check('^\\d{3}$', '12')).toEqual({
    ok: false,
    issues: [{ path: [], message: 'Invalid string: must match pattern /^\\d{3}$/' }],
  });
  expect(await check('^(?=b)a$', 'c')).toMatchObject({ ok: true });
});

test('references that multiply what is to be checked make it a schema that takes anything', async () => {
  const levels = Array.from({ length: 26 }, (_, level) => [`a${level}`, fork(`#/$defs/a${level + 1}`)]);
  const $defs = { ...Object.fromEntries(levels), a26: { type: 'number' } };
  const schema = { $defs, type: 'object', properties: { x: { $ref: '#/$defs/a0' } } };
  expect(await parseWith(await fromJsonSchema(schema), { x: 'text' })).toMatchObject({ ok: true });
  const few = { $defs: { ...$defs, a3: { type: 'number' } }, properties: schema.properties, type: 'object' };
  expect(await parseWith(await fromJsonSchema(few), { x: 'text' })).toMatchObject({ ok: false });
});

test('a schema that refers to itself is checked', async () => {
  const list = { type: 'object', properties: { next: { $ref: '#/$defs/list' }, at: { type: 'number' } } };
  const schema = { $defs: { list }, $ref: '#/$defs/list' };
  expect(await parseWith(await fromJsonSchema(schema), { next: { at: 1 } })).toMatchObject({ ok: true });
  expect(await parseWith(await fromJsonSchema(schema), { next: { at: 'x' } })).toMatchObject({ ok: false });
});

const fork = (ref: string) => ({ anyOf: [{ $ref: ref }, { $ref: ref }] });
