import { expect, it } from 'vitest';
import { toSides } from './sides.ts';
import { listVariables } from './variables.ts';

it('what was removed stands beside what was added in its place', () => {
  const pairs = toSides({
    fromLine: 3,
    toLine: 5,
    lines: [
      { kind: 'same', text: 'Be kind.' },
      { kind: 'removed', text: 'Be short.' },
      { kind: 'removed', text: 'Be quick.' },
      { kind: 'added', text: 'Be brief.' },
      { kind: 'same', text: 'The end.' },
    ],
  });
  expect(pairs).toEqual([
    { isSame: true, left: { line: 3, text: 'Be kind.' }, right: { line: 5, text: 'Be kind.' } },
    { isSame: false, left: { line: 4, text: 'Be short.' }, right: { line: 6, text: 'Be brief.' } },
    { isSame: false, left: { line: 5, text: 'Be quick.' } },
    { isSame: true, left: { line: 6, text: 'The end.' }, right: { line: 7, text: 'The end.' } },
  ]);
});

it('the names that are filled in are listed once each', () => {
  expect(listVariables('Hello {{ name }}, of {{company}}. {{name}}! {not} {{ }}')).toEqual(['name', 'company']);
});
