import { expect, test } from 'vitest';
import { placeOf } from './place.ts';

const stackOf = (...frames: string[]) => ['Error: No.', ...frames.map((frame) => `    at ${frame}`)].join('\n');

test('the place of an error is the first frame in the project, named or not, awaited or not', () => {
  const PLACE = 'workflows/refund.workflow.ts:12';
  expect(placeOf(stackOf(`charge (${PLACE}:9)`, 'refund (workflows/other.ts:3:1)'))).toBe(PLACE);
  expect(placeOf(stackOf(`async charge (${PLACE}:9)`))).toBe(PLACE);
  expect(placeOf(stackOf(`${PLACE}:9`))).toBe(PLACE);
  expect(placeOf(stackOf(`async ${PLACE}:9`))).toBe(PLACE);
  expect(
    placeOf(stackOf('async Promise.all (index 0)', 'JSON.parse (<anonymous>)', `Desk.charge [as pay] (${PLACE}:9)`)),
  ).toBe(PLACE);
});

test('what is of Node, of elsewhere or no stack has no place', () => {
  expect(
    placeOf(stackOf('async node:internal/deps/undici:12:3', 'read (node:fs/promises:1:2)', 'go (runtime.mjs:4:4)')),
  ).toBe(undefined);
  expect(placeOf('Error: at workflows/a.ts:1:1')).toBe(undefined);
  expect(placeOf(null)).toBe(undefined);
});
