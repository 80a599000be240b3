import { expect, test } from 'vitest';
import { mergeSpans } from './merge-spans.ts';
import type { Span } from './timeline.ts';

const span = (spanId: string, at: number, more: Partial<Span> = {}): Span =>
  ({ spanId, parentId: 'r', kind: 'step', name: spanId, status: 'waiting', startedAt: String(at), ...more }) as Span;
const run = (status: string) => span('r', 0, { kind: 'run', parentId: null, status });

test('what has changed takes the place of what was known, and what is new comes at its time', () => {
  const known = [run('running'), span('r:0', 1), span('r:2', 5)];
  const merged = mergeSpans(known, [run('completed'), span('r:0', 1, { status: 'completed' }), span('r:1', 3)]);
  expect(merged.map(({ spanId, status }) => [spanId, status])).toEqual([
    ['r', 'completed'],
    ['r:0', 'completed'],
    ['r:1', 'waiting'],
    ['r:2', 'waiting'],
  ]);
  expect(known[0]?.status).toBe('running');
});

test('a child run stays below the call that is known to have started it', () => {
  const child = (parentId: string, status: string) => span('c', 2, { kind: 'run', parentId, status });
  const merged = mergeSpans([run('running'), child('r:0', 'running')], [run('running'), child('r', 'completed')]);
  expect(merged[1]).toMatchObject({ parentId: 'r:0', status: 'completed' });
  // And comes there once that is told.
  expect(mergeSpans(merged.slice(0, 1).concat(child('r', 'running')), [child('r:0', 'running')])[1]?.parentId).toBe(
    'r:0',
  );
});

test('of 10,000 spans a few that have changed are merged at once', () => {
  const known = [run('running'), ...Array.from({ length: 10_000 }, (_, n) => span(`r:${n}`, 1_000_000 + n))];
  const merged = mergeSpans(known, [run('running'), span('r:10000', 1_010_000), span('r:5', 1_000_005)]);
  expect(merged).toHaveLength(10_002);
});
