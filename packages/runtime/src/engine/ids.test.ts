import { expect, test } from 'vitest';
import { createRunIds, newRecordId, newRunId, newToken, toTraceId } from './ids.ts';

test('a run id is a UUIDv7 of the present time', () => {
  const before = Date.now();
  const id = newRunId();
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const time = Number.parseInt(id.replace('-', '').slice(0, 12), 16);
  expect(time).toBeGreaterThanOrEqual(before);
  expect(time).toBeLessThanOrEqual(Date.now() + 1);
});

test('100,000 run ids are different and in order', () => {
  const ids = Array.from({ length: 100_000 }, newRunId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.slice().sort()).toStrictEqual(ids);
});

test('a token begins with a letter or a digit: it is an argument in any shell', () => {
  const tokens = Array.from({ length: 2_000 }, newToken);
  expect(tokens.filter((token) => !/^[A-Za-z0-9][\w-]{42}$/.test(token))).toEqual([]);
  expect(new Set(tokens).size).toBe(tokens.length);
});

test('run ids stay in order while the clock stands still, and when it goes back', () => {
  let now = 1_000_000;
  const next = createRunIds({ now: () => now });
  const ids = Array.from({ length: 10_000 }, next);
  now = 10;
  ids.push(next());
  now = 1_000_500;
  ids.push(next());
  expect(ids.slice().sort()).toStrictEqual(ids);
});

test('run ids are of the present again once a clock that was far ahead is put right', () => {
  const right = Date.UTC(2026, 0, 1);
  let now = right + 26 * 60 * 60 * 1000;
  const next = createRunIds({ now: () => now });
  next();
  now = right;
  const ids = Array.from({ length: 5_000 }, next);
  expect(Number.parseInt((ids[0] as string).replace('-', '').slice(0, 12), 16)).toBe(right);
  expect(ids.slice().sort()).toStrictEqual(ids);
});

test('a trace id is the run id in 32 hex digits', () => {
  expect(toTraceId('0190163D-8694-739B-AEA5-966C26F8AD91')).toBe('0190163d8694739baea5966c26f8ad91');
});

test('record ids are different', () => {
  const ids = Array.from({ length: 10_000 }, newRecordId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => /^[\w-]{16}$/.test(id))).toBe(true);
});
