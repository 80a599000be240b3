import { expect, test } from 'vitest';
import { readLines } from './read-lines.ts';

test('each line is an input, whatever JSON it is, and an empty one is none', () => {
  expect(readLines('{"a": 1}\n\n  \n2\n"three"\nnull\n')).toEqual({ inputs: [{ a: 1 }, 2, 'three', null] });
  expect(readLines('')).toEqual({ inputs: [] });
});

test('the first line that is none is named, by its place among all lines', () => {
  expect(readLines('{"a": 1}\n\n{oops}\n{').problem).toMatch(/^Line 3 is not JSON: /);
});

test('more than one request takes are not read', () => {
  const { inputs, problem } = readLines('1\n'.repeat(501));
  expect([inputs.length, problem]).toEqual([500, 'More than 500 inputs: send the rest afterwards.']);
  expect(readLines('1\n'.repeat(500)).problem).toBeUndefined();
});
