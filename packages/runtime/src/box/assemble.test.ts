import { expect, test } from 'vitest';
import { assemble } from './assemble.ts';
import type { Part } from './assemble.ts';
import { createCloser } from './closer.ts';

interface Given {
  first: string;
  second: string;
  third: string;
}

test('a part is made before those that ask for it, and closed after them, in whatever order they are listed', async () => {
  const closer = createCloser();
  const closed: string[] = [];
  const close = (made: unknown) => void closed.push(String(made));
  const parts: Part<Given>[] = [
    { name: 'third', create: ({ second }) => `${second} third`, close },
    { name: 'second', create: ({ first }) => `${first} second`, close },
    { name: 'first', create: () => 'first', close },
  ];

  expect(assemble<Given>({}, parts, closer)).toEqual({
    first: 'first',
    second: 'first second',
    third: 'first second third',
  });
  await closer.close();
  expect(closed).toEqual(['first second third', 'first second', 'first']);
});

test('a ring of parts is named', () => {
  const parts: Part<Given>[] = [
    { name: 'first', create: ({ second }) => second },
    { name: 'second', create: ({ first }) => first },
  ];
  expect(() => assemble<Given>({}, parts, createCloser())).toThrow(
    'A part of the box is made of itself: first -> second -> first.',
  );
});

test('two parts cannot have one name', () => {
  const part: Part<Given> = { name: 'first', create: () => 'first' };
  expect(() => assemble<Given>({ first: 'given' }, [part], createCloser())).toThrow(
    'Two parts of the box are named "first".',
  );
});
