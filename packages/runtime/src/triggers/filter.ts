import { find } from './template.ts';
import type { Scope } from './template.ts';

/** What a place has to hold; null: nothing. */
export type Wanted = string | number | boolean | null;

export interface Filter {
  /** Names of events: "issues" is every event below it, such as "issues.opened". Null: all. */
  events: readonly string[] | null;
  /** By path; of a list one has to be there. Null: whatever. */
  where: Record<string, Wanted | readonly Wanted[]> | null;
}

/** Whether what came is what the trigger is for. */
export function isWanted({ events, where }: Filter, scope: Scope): boolean {
  const { event } = scope;
  if (events && !events.some((name) => event === name || event?.startsWith(`${name}.`) === true)) return false;
  return Object.entries(where ?? {}).every(([path, wanted]) => {
    const value = find(path, scope) ?? null;
    return (Array.isArray(wanted) ? (wanted as Wanted[]) : [wanted as Wanted]).includes(value as Wanted);
  });
}
