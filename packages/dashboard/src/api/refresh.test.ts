import { QueryObserver } from '@tanstack/react-query';
import { describe, expect, test } from 'vitest';
import { createQueries, holdReads, refreshRooms } from './refresh.ts';

describe('What is on the screen', () => {
  test('is read again once its room has changed, and what is not on it is old', async () => {
    const { queries, reads } = show(['runs.get', 'sessions.get']);
    await queries.prefetchQuery({ queryKey: ['runs.list'], queryFn: () => null });

    await refreshRooms(queries, ['runs']);
    expect(reads).toEqual({ 'runs.get': 2, 'sessions.get': 1 });
    expect(queries.getQueryState(['runs.list'])).toMatchObject({ isInvalidated: true, dataUpdateCount: 1 });
  });

  test('is not read again while it is deleted, and is where the delete has failed', async () => {
    const { queries, reads } = show(['runs.get', 'sessions.get', 'prompts.get']);
    const release = holdReads(queries, ['runs', 'sessions']);
    const releaseOther = holdReads(queries, ['runs']);

    await refreshRooms(queries, ['runs', 'sessions', 'prompts']);
    expect(reads).toEqual({ 'runs.get': 1, 'sessions.get': 1, 'prompts.get': 2 });
    expect(queries.getQueryState(['runs.get'])?.isInvalidated).toBe(true);

    // A tab of the screen that is shown again, on the way out of it.
    new QueryObserver(queries, { queryKey: ['runs.get'], queryFn: () => (reads['runs.get'] += 1) }).subscribe(() => {});
    expect(reads['runs.get']).toBe(1);

    release();
    await expect.poll(() => reads).toEqual({ 'runs.get': 1, 'sessions.get': 2, 'prompts.get': 2 });
    releaseOther();
    await expect.poll(() => reads).toEqual({ 'runs.get': 2, 'sessions.get': 2, 'prompts.get': 2 });
  });

  test('drops the read that is under way when the delete begins', async () => {
    const queries = createQueries({ retry: false });
    const signals: AbortSignal[] = [];
    const queryFn = ({ signal }: { signal: AbortSignal }) => (signals.push(signal), new Promise<never>(() => {}));
    new QueryObserver(queries, { queryKey: ['runs.get'], queryFn }).subscribe(() => {});

    holdReads(queries, ['runs']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

// --- internal ---

/** A screen that shows what these operations answer, and how often each was read. */
function show<Id extends string>(ids: readonly Id[]) {
  const queries = createQueries({ retry: false, staleTime: Infinity });
  const reads = {} as Record<Id, number>;
  for (const id of ids) {
    const queryFn = () => (reads[id] = (reads[id] ?? 0) + 1);
    queries.setQueryData([id], 0);
    new QueryObserver<number>(queries, { queryKey: [id], queryFn }).subscribe(() => {});
    reads[id] = 1;
  }
  return { queries, reads };
}
