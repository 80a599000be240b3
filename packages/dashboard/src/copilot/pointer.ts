import { isOpenTo, SCREENS } from '../app/screens.ts';
import type { Seat } from '../app/screens.ts';
import type { Search } from '../app/search.ts';

/** Where in the dashboard the person is, as the box takes it: names and ids, and nothing of what is shown. */
export interface Pointer {
  screen: string;
  title?: string;
  runId?: string;
  sessionId?: string;
  agentName?: string;
  table?: string;
  tag?: string;
  /** Ids of those the role may open. */
  screens: string[];
  role: string;
  /** The local date and time, and its zone. */
  now: string;
  tz: string;
}

export interface Shown {
  /** Undefined: there is no such page. */
  screen: string | undefined;
  params: Record<string, string>;
  search: Search;
}

export function toPointer({ screen: id, params, search }: Shown, seat: Seat, now = new Date()): Pointer {
  const screen = SCREENS.find((each) => each.id === id);
  const [kind, ...named] = (search['open'] ?? '').split('/');
  return {
    screen: id ?? 'none',
    ...(screen ? { title: screen.title, tag: screen.tag } : {}),
    ...toMember('runId', 100, id === 'run' ? params['id'] : search['run']),
    ...toMember('sessionId', 256, id === 'session' ? params['id'] : search['session']),
    ...toMember('agentName', 200, id === 'catalog' && kind === 'agent' ? named.join('/') : search['agent']),
    ...toMember('table', 200, id === 'database' ? search['table'] : undefined),
    screens: SCREENS.filter((each) => isOpenTo(each, seat)).map((each) => each.id),
    role: seat.role,
    now: toLocal(now),
    tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
}

// --- internal ---

/** What is longer than the box takes is no id. */
function toMember<Name extends string>(name: Name, most: number, value: string | undefined) {
  return value === undefined || value === '' || value.length > most ? {} : { [name as Name]: value };
}

/** `2026-03-01T09:30:00`, as a clock on the wall has it. */
function toLocal(now: Date): string {
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
