import { expect, test } from 'vitest';
import { describeLimits, readTyped, toTyped } from './draft.ts';

test('what is typed is what the box takes, and what is empty is no limit', () => {
  expect(readTyped(toTyped())).toEqual({ limits: null, addresses: null });
  const { own, users } = toTyped();
  expect(
    readTyped({
      own: { ...own, requestsPerMinute: '10', tokensPerDay: '1,000,000' },
      users: { ...users, concurrentTurns: '2' },
      addresses: ' 203.0.113.7\n2001:db8::/32, 10.0.0.0/8 ',
    }),
  ).toEqual({
    limits: { requestsPerMinute: 10, tokensPerDay: 1_000_000, users: { concurrentTurns: 2 } },
    addresses: ['203.0.113.7', '2001:db8::/32', '10.0.0.0/8'],
  });
  expect(readTyped({ own: { ...own, tokensPerDay: 'many' }, users, addresses: '' }).limits).toEqual({
    tokensPerDay: 'many',
  });
});

test('a key that is changed begins with what it has', () => {
  const key = { limits: { requestsPerMinute: 5, users: { tokensPerMonth: 7 } }, addresses: ['10.0.0.1'] };
  expect(readTyped(toTyped(key))).toEqual(key);
  expect(describeLimits({ requestsPerMinute: 12_500, tokensPerDay: null })).toBe('12,500 requests a minute');
});
