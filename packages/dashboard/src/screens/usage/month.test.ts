import { expect, test } from 'vitest';
import { listDays, listMonths, toMonthName, toSpan } from './month.ts';

test('months go back over the end of a year, whatever the day', () => {
  expect(listMonths(Date.parse('2026-01-31T23:59:59Z'), 3)).toEqual(['2026-01', '2025-12', '2025-11']);
  expect(toMonthName('2025-12')).toBe('December 2025');
});

test('a month has its days, and ends where the next one begins', () => {
  expect([listDays('2028-02').length, listDays('2026-12').at(-1)]).toEqual([29, '2026-12-31']);
  expect(toSpan('2026-12')).toEqual({ from: '2026-12-01T00:00:00.000Z', to: '2027-01-01T00:00:00.000Z' });
});
