import type { QueryClient } from '@tanstack/react-query';
import type { BoxEvent, BoxEvents } from './events.ts';

/**
 * What is shown is read anew when the box says that it has changed: by the first member of its key, which is the id of an
 * operation. Answers what ends it.
 */
export function followEvents(events: BoxEvents, queries: QueryClient): () => void {
  const due = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    timer = undefined;
    const rooms = new Set(due);
    due.clear();
    void queries.invalidateQueries({
      predicate: ({ queryKey: [id] }) => rooms.has(ALL) || rooms.has(String(id).split('.')[0] ?? ''),
    });
  };
  const stopListening = events.on((event) => {
    for (const room of roomsOf(event)) due.add(room);
    // Many at once are one.
    timer ??= setTimeout(flush, GATHER_MS);
  });
  const stop = events.start();
  return () => {
    clearTimeout(timer);
    stopListening();
    stop();
  };
}

// --- internal ---

const GATHER_MS = 250;
const ALL = '*';

/** Rooms whose answers an event may have changed, by the beginning of its name. */
const ROOMS: readonly (readonly [prefix: string, rooms: readonly string[]])[] = [
  ['run.', ['runs', 'sessions', 'workflows', 'jobs']],
  ['step.', ['runs', 'sessions']],
  ['approval.', ['approvals', 'runs']],
  ['session.', ['sessions']],
  ['budget.', ['usage']],
  ['program.', ['catalog', 'discovery', 'workflows', 'jobs', 'prompts', 'config']],
];

function roomsOf({ event }: BoxEvent): readonly string[] {
  if (event === 'reset') return [ALL];
  return ROOMS.find(([prefix]) => event.startsWith(prefix))?.[1] ?? [];
}
