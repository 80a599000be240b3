import type { Journal } from '../journal.ts';

/** Does something around a call of the journal. Names are as written: `append`, `hooks.resume`. */
export type Around = <T>(name: string, call: () => Promise<T>) => Promise<T>;

/** The journal with each of its calls but `close` handed to `around`. */
export function wrapJournal(journal: Journal, around: Around): Journal {
  return wrapCalls(journal, '', around);
}

// --- internal ---

function wrapCalls<T extends object>(target: T, prefix: string, around: Around): T {
  const members = Object.entries(target).map(([key, value]: [string, unknown]) => {
    if (typeof value === 'function' && key !== 'close') {
      const call = value as (...args: unknown[]) => Promise<unknown>;
      return [key, (...args: unknown[]) => around(prefix + key, async () => call(...args))];
    }
    return [key, typeof value === 'object' && value !== null ? wrapCalls(value, `${key}.`, around) : value];
  });
  return Object.fromEntries(members) as T;
}
