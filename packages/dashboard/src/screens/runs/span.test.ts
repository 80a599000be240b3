import { expect, test } from 'vitest';
import { toSpan } from './span.ts';

const now = new Date(2026, 2, 5, 13, 45, 30);

test('a name of a span is when it begins, and where it ends too when that is over', () => {
  expect(toSpan({ since: 'hour' }, now)).toEqual({ from: new Date(2026, 2, 5, 12, 45).toISOString() });
  expect(toSpan({ since: 'yesterday' }, now)).toEqual({
    from: new Date(2026, 2, 4).toISOString(),
    to: new Date(2026, 2, 5).toISOString(),
  });
  expect(toSpan({}, now)).toEqual({});
});

test('two times of the address are taken where they are asked for, and are some', () => {
  const [from, to] = ['2026-03-01T10:00:00.000Z', '2026-03-02T10:00:00.000Z'];
  expect(toSpan({ since: 'between', from, to }, now)).toEqual({ from, to });
  expect(toSpan({ since: 'between', from: 'noon', to }, now)).toEqual({ to });
  expect(toSpan({ from, to }, now)).toEqual({});
});
