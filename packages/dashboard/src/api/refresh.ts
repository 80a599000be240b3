import type { QueryClient } from '@tanstack/react-query';

type Key = readonly unknown[];

/** Marks as old what is kept under the keys in question, and reads again what of it is on the screen. */
export async function refresh(queries: QueryClient, isOld: (key: Key) => boolean): Promise<void> {
  await queries.invalidateQueries({ predicate: ({ queryKey }) => isOld(queryKey), refetchType: 'none' });
  await queries.refetchQueries({
    type: 'active',
    predicate: ({ queryKey }) => isOld(queryKey) && !isHeld(queries, queryKey),
  });
}

/** Of all that operations of these rooms have answered. */
export async function refreshRooms(queries: QueryClient, rooms: readonly string[]): Promise<void> {
  await refresh(queries, (key) => rooms.includes(roomOf(key)));
}

/**
 * Until the returned function is called nothing of these rooms is read again, whatever becomes old: their screen is about to be left
 * for what is deleted, of which the box would answer that there is no such thing. A read that is under way is dropped.
 */
export function holdReads(queries: QueryClient, rooms: readonly string[]): () => void {
  const mine = new Set(rooms);
  const all = held.get(queries) ?? new Set();
  held.set(queries, all.add(mine));
  void queries.cancelQueries({ predicate: ({ queryKey }) => mine.has(roomOf(queryKey)) });
  return () => void all.delete(mine);
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
