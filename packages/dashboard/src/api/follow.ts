import type { QueryClient } from '@tanstack/react-query';
import type { BoxEvent, BoxEvents } from './events.ts';
import { refresh, refreshRooms, roomOf } from './refresh.ts';

/**
 * What is shown is read again when the box says that it has changed: by the first member of its key, which is the id of an
 * operation. Answers what ends it.
 */
export function followEvents(events: BoxEvents, queries: QueryClient): () => void {
  const due = new Map<string, Set<string> | undefined>();
  const published = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    timer = undefined;
    const rooms = new Map(due);
    const states = new Set(published);
    due.clear();
    published.clear();
    void refresh(queries, (key) => rooms.has(ALL) || isDue(key, rooms) || isStateOf(key, states));
  };
  let late: ReturnType<typeof setTimeout> | undefined;
  const flushLate = (): void => {
    late = undefined;
    void refreshRooms(queries, ['usage']);
  };
  const stopListening = events.on((event) => {
    if (event.event.startsWith('run.')) late ??= setTimeout(flushLate, LATE_MS);
    const ids = runsOf(event);
    for (const room of roomsOf(event)) {
      const known = due.get(room);
      due.set(room, due.has(room) && !known ? undefined : ids && new Set([...(known ?? []), ...ids]));
    }
    // Many at once are one.
    if (event.event === 'state.published') published.add(event.data.runId);
    if (due.size > 0 || published.size > 0) timer ??= setTimeout(flush, GATHER_MS);
  });
  const stop = events.start();
  return () => {
    clearTimeout(timer);
    clearTimeout(late);
    stopListening();
    stop();
  };
}

// --- internal ---

const GATHER_MS = 300;
/** What runs have used is added to its sums within half a second. */
const LATE_MS = 1_500;
const ALL = '*';

/** Rooms whose answers an event may have changed, by the beginning of its name. */
const ROOMS: readonly (readonly [prefix: string, rooms: readonly string[]])[] = [
  // The first run of a box is a step of its setup.
  ['run.', ['runs', 'sessions', 'workflows', 'jobs', 'settings', 'evals', 'guardrails', 'triggers', 'notify']],
  ['step.', ['runs', 'sessions', 'evals']],
  ['approval.', ['approvals', 'runs']],
  ['session.', ['sessions']],
  ['budget.', ['usage']],
  ['program.', ['catalog', 'discovery', 'workflows', 'jobs', 'prompts', 'config', 'guardrails']],
];

/** What else may be another one once someone has changed something of a room. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  catalog: ['discovery', 'workflows', 'settings'],
  keys: ['usage'],
  prompts: ['catalog'],
  provider: ['settings', 'models', 'catalog', 'health'],
  sessions: ['memory'],
  settings: ['provider', 'models', 'catalog', 'browser'],
};

function roomsOf(happened: BoxEvent): readonly string[] {
  if (happened.event === 'reset') return [ALL];
  if (happened.event === 'workspace.changed') {
    const { room } = happened.data;
    // Whatever is changed is written down there.
    return [room, 'activity', ...(BESIDE[room] ?? [])];
  }
  return ROOMS.find(([prefix]) => happened.event.startsWith(prefix))?.[1] ?? [];
}

/** The run it is about, and the one that started it. Undefined: it is about none. */
function runsOf({ data }: BoxEvent): string[] | undefined {
  const { runId, parentRunId } = data as { runId?: string; parentRunId?: string | null };
  return runId === undefined ? undefined : [runId, ...(parentRunId ? [parentRunId] : [])];
}

/** What is asked of one run is not asked again for another one. */
function isDue(key: readonly unknown[], rooms: ReadonlyMap<string, ReadonlySet<string> | undefined>): boolean {
  const room = roomOf(key);
  if (!rooms.has(room)) return false;
  const ids = rooms.get(room);
  const own = (key[1] as { id?: string } | undefined)?.id;
  return room !== 'runs' || ids === undefined || own === undefined || ids.has(own);
}

/** A run may publish at each turn of a loop: that changes nothing else of it. */
function isStateOf([id, input]: readonly unknown[], runIds: ReadonlySet<string>): boolean {
  return id === 'runs.state' && runIds.has(String((input as { id?: string }).id));
}
