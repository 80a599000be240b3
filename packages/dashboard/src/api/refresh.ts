import { QueryClient } from '@tanstack/react-query';
import type { QueryClientConfig } from '@tanstack/react-query';

type Key = readonly unknown[];
type ReadOptions = NonNullable<NonNullable<QueryClientConfig['defaultOptions']>['queries']>;

/** What the box has answered. Nothing of a room whose reads are held is read, where it is shown first either. */
export function createQueries(options: ReadOptions): QueryClient {
  const queries: QueryClient = new QueryClient({
    defaultOptions: { queries: { ...options, enabled: ({ queryKey }) => !isHeld(queries, queryKey) } },
  });
  return queries;
}

/** Marks as old what is kept under the keys in question, and reads again what of it is on the screen. */
export async function refresh(queries: QueryClient, isOld: (key: Key) => boolean): Promise<void> {
  await queries.invalidateQueries({ predicate: ({ queryKey }) => isOld(queryKey) });
}

/** Of all that operations of these rooms have answered. */
export async function refreshRooms(queries: QueryClient, rooms: readonly string[]): Promise<void> {
  await refresh(queries, (key) => rooms.includes(roomOf(key)));
}

/**
 * Until the returned function is called nothing of these rooms is read, whatever becomes old or is shown again: their screen is about
 * to be left for what is deleted, of which the box would answer that there is no such thing. A read that is under way is dropped.
 */
export function holdReads(queries: QueryClient, rooms: readonly string[]): () => void {
  const mine = new Set(rooms);
  const all = held.get(queries) ?? new Set();
  held.set(queries, all.add(mine));
  void queries.cancelQueries({ predicate: ({ queryKey }) => mine.has(roomOf(queryKey)) });
  return () => {
    all.delete(mine);
    // The screen that is shown instead has found them held.
    void queries.refetchQueries({
      type: 'active',
      predicate: ({ queryKey, state }) =>
        mine.has(roomOf(queryKey)) && (state.isInvalidated || state.data === undefined),
    });
  };
}

/** Of an operation, by its id: the first member of a key. */
export function roomOf([id]: Key): string {
  return String(id).split('.')[0] ?? '';
}

// --- internal ---

const held = new WeakMap<QueryClient, Set<ReadonlySet<string>>>();

function isHeld(queries: QueryClient, key: Key): boolean {
  const room = roomOf(key);
  return [...(held.get(queries) ?? [])].some((rooms) => rooms.has(room));
}
