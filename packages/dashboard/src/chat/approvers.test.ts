import { expect, test } from 'vitest';
import { isAmong, nameApprovers } from './approvers.ts';

const caller = { id: 'u-1', name: 'Ada', role: 'approver' } as const;

test('who is named by id or by role decides, and anyone where no one is named or known', () => {
  const at = (approvers: string[] | null, place: 'full' | 'dev' = 'full') => isAmong(approvers, { place, caller });
  expect(at(null)).toBe(true);
  expect(at(['u-1'])).toBe(true);
  expect(at(['u-2', 'role:approver'])).toBe(true);
  expect(at(['role:admin'])).toBe(false);
  expect(at(['role:admin'], 'dev')).toBe(true);
});

test('an id that is written like a role is none', () => {
  const posing = { ...caller, id: 'role:admin' };
  expect(isAmong(['role:admin'], { place: 'full', caller: posing })).toBe(false);
});

test('who decides is named, a role as one', () => {
  expect(nameApprovers(['u-1', 'role:admin'])).toBe('u-1, anyone who is admin');
});
