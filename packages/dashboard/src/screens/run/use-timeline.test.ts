import type { Query } from '@tanstack/react-query';
import { beforeAll, expect, test } from 'vitest';
import { answer, openPart, refuse, stubBrowser } from '../../app/_draw.ts';
import { useTimeline } from './use-timeline.ts';

beforeAll(stubBrowser);

test('a child run whose calls could not be read is asked for again, and what was read is not', async () => {
  let timeline: ReturnType<typeof useTimeline> | undefined;
  const draw = await openPart(() => {
    timeline = useTimeline('own', new Set(['child']));
    return null;
  });
  const asked = new Map<string, Query>();
  draw((query) => {
    const { id } = query.queryKey[1] as { id: string };
    asked.set(id, query);
    if (id === 'child') refuse(query);
    else answer(query, { items: [{ spanId: 'own' }], seq: 1, isWhole: true });
  });
  expect(timeline).toMatchObject({ data: [{ spanId: 'own' }], error: { code: 'overloaded' } });
  timeline?.refetch();
  expect([...asked].map(([id, { state }]) => [id, state.fetchStatus])).toEqual([
    ['own', 'idle'],
    ['child', 'fetching'],
  ]);
});
