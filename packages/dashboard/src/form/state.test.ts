import { expect, it } from 'vitest';
import { writeAt } from './path.ts';
import { changeForm, readJson, readNumber, startForm } from './state.ts';
import type { FormAction, FormState } from './state.ts';

const after = (value: unknown, ...actions: FormAction[]): FormState =>
  actions.reduce((state, action) => changeForm(state, action), startForm(value));

it('a member is set, and taken out where it has no value', () => {
  expect(after({}, { type: 'set', path: ['a', 'b'], value: 1 }).value).toEqual({ a: { b: 1 } });
  const { value } = after({ a: 1, b: 2 }, { type: 'set', path: ['a'], value: undefined });
  expect(Object.keys(value as object)).toEqual(['b']);
});

it('entries of a list are added, moved and removed', () => {
  const path = ['list'];
  const { value } = after(
    {},
    { type: 'add', path, value: 'a' },
    { type: 'add', path, value: 'b' },
    { type: 'add', path, value: 'c' },
    { type: 'move', path, at: 2, by: -1 },
    { type: 'move', path, at: 0, by: -1 },
    { type: 'remove', path, at: 0 },
  );
  expect(value).toEqual({ list: ['c', 'b'] });
});

it('what is no value yet is kept as it was typed, until there is one', () => {
  const draft = { type: 'draft', path: ['list', 0], text: '1e', message: 'Expected a number.' } as const;
  const typed = after({ list: [1] }, draft);
  expect([...typed.drafts.values()]).toMatchObject([{ text: '1e' }]);
  expect(typed.value).toEqual({ list: [1] });
  expect(changeForm(typed, { type: 'set', path: ['list', 0], value: 10 }).drafts.size).toBe(0);
  expect(changeForm(typed, { type: 'remove', path: ['list'], at: 0 }).drafts.size).toBe(0);
  expect(changeForm(typed, { type: 'set', path: ['other'], value: 10 }).drafts.size).toBe(1);
});

it('a member may be called anything, and changes no prototype', () => {
  const value = writeAt({}, ['__proto__', 'polluted'], true) as object;
  expect(Object.hasOwn(value, '__proto__')).toBe(true);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

it.each([
  ['12', { value: 12 }],
  [' -1.5e3 ', { value: -1_500 }],
  ['.5', { value: 0.5 }],
  ['', { value: undefined }],
  ['12a', { message: 'Expected a number.' }],
  ['0x10', { message: 'Expected a number.' }],
  ['1e999', { message: 'The number is too large.' }],
  ['9007199254740993', { message: 'The number has more digits than it can keep.' }],
])('%j as a number', (text, read) => expect(readNumber(text)).toEqual(read));

it('a text that is not JSON is said to be none', () => {
  expect(readJson('{"a":1}')).toEqual({ value: { a: 1 } });
  expect(readJson(' ')).toEqual({ value: undefined });
  expect(readJson('{a}')).toMatchObject({ message: expect.stringMatching(/^This is not JSON: /) as string });
});
