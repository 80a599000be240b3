import { describe, expect, test } from 'vitest';
import { at, span } from './_spans.ts';
import { childrenOf, toBusy, toRows, toScale, toSegments } from './timeline.ts';
import type { Span } from './timeline.ts';

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
    const child = span('below', 2, 8, { kind: 'run', runId: 'c', parentId: 'a' });
    const all = [...spans, child, span('deep', 3, 4, { parentId: 'below' })];
    const ids = (opened: string[]) => toRows(all, NOTHING, new Set(opened)).map((row) => row.span.spanId);
    // A child run is closed until it is opened, and can be before its calls are known.
    expect(ids([])).toEqual(['run', 'a', 'below', 'child', 'b']);
    expect(ids(['c'])).toEqual(['run', 'a', 'below', 'deep', 'child', 'b']);
    expect(toRows(all, NOTHING)[2]).toMatchObject({ hasBelow: true, isClosed: true });
    expect(toRows(spans, new Set(['child'])).map((row) => row.span.spanId)).toEqual(['run', 'a', 'child']);
  });

  test('of 40,000 spans are made at once', () => {
    const spans = [span('run', 0, 9), ...Array.from({ length: 40_000 }, (_, i) => span(`s${i}`, 1, 2))];
    expect(toRows(spans, NOTHING)).toHaveLength(40_001);
    expect(toScale(toBusy(spans), 0, true).toPlace(Date.parse(at(9)))).toBeCloseTo(1);
  });
});

describe('segments', () => {
  const tried = (more: Partial<Span>) =>
    span('tried', 0, 30, {
      attempt: 3,
      attempts: [
        { startedAt: at(0), endedAt: at(2) },
        { startedAt: at(5), endedAt: at(6) },
        { startedAt: at(20), endedAt: at(30) },
      ],
      ...more,
    });
  const of = (one: Span, now = 0) =>
    toSegments(one, now).map(({ from, to, as }) => [as, (from - Date.parse(at(0))) / 1_000, (to - from) / 1_000]);

  test('are the attempts of a call and what it stood back between them', () => {
    const all = [
      ['failed', 0, 2],
      ['backoff', 2, 3],
      ['failed', 5, 1],
      ['backoff', 6, 14],
      ['last', 20, 10],
    ];
    expect(of(tried({}))).toEqual(all);
    expect(of(tried({ status: 'failed' }))).toEqual(all);
    expect(of(span('once', 1, 4))).toEqual([['whole', 1, 3]]);
  });

  test('of a call that is to be repeated go on to now, first waiting and then under way', () => {
    const waits = tried({ status: 'retrying', endedAt: null, retryAt: at(40) });
    expect(of(waits, Date.parse(at(35))).slice(-2)).toEqual([
      ['failed', 20, 10],
      ['backoff', 30, 5],
    ]);
    expect(of(waits, Date.parse(at(44))).slice(-2)).toEqual([
      ['backoff', 30, 10],
      ['running', 40, 4],
    ]);
  });

  test('between which a call stood back long are idle time', () => {
    const { gaps } = toScale(toBusy([span('run', 0, 30), tried({})]), 0, true);
    expect(gaps.map(({ from, to }) => (to - from) / 1_000)).toEqual([14]);
  });
});

describe('the child runs of a call', () => {
  const start = span('start', 0, 1, { kind: 'child', name: 'start pay' });
  const wait = span('wait', 1, 9, { kind: 'child', name: 'wait pay' });
  const child = span('c1', 1, 9, { kind: 'run', runId: 'c1', parentId: 'start' });

  test('are those it started, and the one it waits for where there is one', () => {
    const ids = (one: Span, spans: Span[]) => childrenOf(one, spans).map(({ spanId }) => spanId);
    const spans = [span('run', 0, 9), start, wait, child];
    expect(ids(start, spans)).toEqual(['c1']);
    expect(ids(wait, spans)).toEqual(['c1']);
    expect(ids(wait, [...spans, { ...start, spanId: 'start 2' }])).toEqual([]);
    expect(ids(spans[0] as Span, spans)).toEqual([]);
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
    const { toPlace } = toScale(toBusy(spans), 0, false);
    expect([0, 250, 1_000].map((second) => toPlace(Date.parse(at(second))))).toEqual([0, 0.25, 1]);
  });

  test('gives a long wait a small part, and what ran the rest', () => {
    const { toPlace, gaps } = toScale(toBusy(spans), 0, true);
    expect(gaps).toHaveLength(1);
    const places = [0, 10, 990, 1_000].map((second) => toPlace(Date.parse(at(second))));
    expect(places.map((place) => Number(place.toFixed(2)))).toEqual([0, 0.48, 0.52, 1]);
  });

  test('goes to now for what has not ended', () => {
    const { end } = toScale(toBusy([span('run', 0, null)]), Date.parse(at(60)), true);
    expect(end).toBe(Date.parse(at(60)));
  });
});
