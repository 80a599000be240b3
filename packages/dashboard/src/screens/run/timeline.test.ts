import { describe, expect, test } from 'vitest';
import { toRows, toScale } from './timeline.ts';
import type { Span } from './timeline.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();
const span = (spanId: string, from: number, to: number | null, more: Partial<Span> = {}): Span => ({
  spanId,
  parentId: spanId === 'run' ? null : 'run',
  kind: spanId === 'run' ? 'run' : 'step',
  name: spanId,
  status: 'completed',
  runId: 'r',
  attempt: 1,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  startedAt: at(from),
  endedAt: to === null ? null : at(to),
  ...more,
});
const NOTHING = new Set<string>();

describe('rows', () => {
  test('stand below what called them, in the order they began, and go with it when it is closed', () => {
    const spans = [span('run', 0, 9), span('a', 1, 2), span('child', 2, 8), span('b', 3, 4, { parentId: 'child' })];
    expect(toRows(spans, NOTHING).map(({ span: { spanId }, depth }) => [spanId, depth])).toEqual([
      ['run', 0],
      ['a', 1],
      ['child', 1],
      ['b', 2],
    ]);
    expect(toRows(spans, new Set(['child'])).map((row) => row.span.spanId)).toEqual(['run', 'a', 'child']);
  });

  test('of 40,000 spans are made at once', () => {
    const spans = [span('run', 0, 9), ...Array.from({ length: 40_000 }, (_, i) => span(`s${i}`, 1, 2))];
    expect(toRows(spans, NOTHING)).toHaveLength(40_001);
    expect(toScale(spans, 0, true).toPlace(Date.parse(at(9)))).toBeCloseTo(1);
  });
});

describe('the scale', () => {
  const spans = [
    span('run', 0, 1_000),
    span('a', 0, 10),
    span('nap', 10, 990, { kind: 'sleep' }),
    span('b', 990, 1_000),
  ];

  test('is even where nothing is folded', () => {
    const { toPlace } = toScale(spans, 0, false);
    expect([0, 250, 1_000].map((second) => toPlace(Date.parse(at(second))))).toEqual([0, 0.25, 1]);
  });

  test('gives a long wait a small part, and what ran the rest', () => {
    const { toPlace, gaps } = toScale(spans, 0, true);
    expect(gaps).toHaveLength(1);
    const places = [0, 10, 990, 1_000].map((second) => toPlace(Date.parse(at(second))));
    expect(places.map((place) => Number(place.toFixed(2)))).toEqual([0, 0.48, 0.52, 1]);
  });

  test('goes to now for what has not ended', () => {
    const { end } = toScale([span('run', 0, null)], Date.parse(at(60)), true);
    expect(end).toBe(Date.parse(at(60)));
  });
});
