import { expect, test } from 'vitest';
import { placeOfCall, placeOfRun, parseTraceparent } from './ids.ts';
import { createSampler } from './sampler.ts';
import { createCounter, createHistogram, MAX_POINTS } from './tally.ts';

const NAMED = { name: 'a', unit: '1', text: 'A.' };

test('what comes after the most sets of labels is counted together', () => {
  const counter = createCounter(NAMED, ['name']);
  for (let n = 0; n < MAX_POINTS + 5; n++) counter.add([`name ${n}`]);
  counter.add(['name 0']);
  const points = [...counter.points.values()];
  expect(points).toHaveLength(MAX_POINTS + 1);
  expect(points[0]?.sum).toBe(2);
  expect(points.at(-1)).toMatchObject({ labels: { 'otel.metric.overflow': true }, sum: 5 });
});

test('a value on a bound is below it', () => {
  const histogram = createHistogram(NAMED, [], [1, 2]);
  for (const value of [0, 1, 1.5, 2, 3]) histogram.add([], value);
  expect([...histogram.points.values()]).toMatchObject([{ count: 5, sum: 7.5, buckets: [2, 2, 1] }]);
});

test('no two calls of a run have the same span, and none that of the run', () => {
  const runId = '0198a3de-7c1c-7f4e-9a42-3f2a6f0b6c11';
  const spans = Array.from({ length: 10_000 }, (_, call) => placeOfCall(runId, call).spanId);
  expect(new Set([...spans, placeOfRun(runId).spanId]).size).toBe(10_001);
  expect(spans.every((span) => /^[\da-f]{16}$/.test(span))).toBe(true);
});

test('a share of the traces is the same one everywhere, and a parent decides for those below it', () => {
  const traceId = '0198a3de7c1c7f4e9a423f2a6f0b6c11';
  const isSampled = (ratio: number) => createSampler('parentbased_traceidratio', ratio)(traceId);
  expect([isSampled(0), isSampled(0.2), isSampled(0.3), isSampled(1)]).toEqual([false, false, true, true]);
  expect(createSampler('parentbased_always_on', 1)(traceId, { isSampled: false })).toBe(false);
  expect(createSampler('always_on', 1)(traceId, { isSampled: false })).toBe(true);
});

test.each(['', 'nonsense', `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`])(
  '"%s" is no traceparent',
  (text) => expect(parseTraceparent(text)).toBeUndefined(),
);
