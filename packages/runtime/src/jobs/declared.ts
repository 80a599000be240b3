import type { ScheduleDeclaration } from '../definitions/workflow-settings.ts';
import { nextFire } from '../definitions/cron.ts';
import type { DeclaredSchedule } from '../engine/journal/schedules.ts';
import { encodeGiven } from '../engine/values/given.ts';

/** A timer the journal has for a workflow, also one that is declared no more. */
export interface KnownTimer extends Pick<DeclaredSchedule, 'id' | 'cron' | 'timeZone' | 'input'> {
  isGone: boolean;
}

/**
 * What a workflow declares, each under the id it has: that of its name, else the number of the timer it is. A timer is what it
 * does and when, so it keeps its number, and its pause, wherever it is in the list. One that has changed is the one
 * with its input, else the one with its times, that nothing else is; any other gets a number no timer has had.
 */
export function toDeclared(
  { name, schedules, codeHash = '' }: { name: string; schedules: ScheduleDeclaration[]; codeHash?: string | undefined },
  known: readonly KnownTimer[],
  now: number,
): DeclaredSchedule[] {
  const wanted = schedules.map(({ name: given, cron, timeZone = null, input = {} }) => ({
    given,
    timer: {
      name,
      cron,
      timeZone,
      input: encodeGiven(input, 'input'),
      nextAt: nextFire(cron, timeZone, now),
      codeHash,
    },
  }));
  const ids = new Map<object, string>();
  const free = new Map(known.map((timer) => [timer.id, timer]));
  const take = (each: object, id: string): void => {
    ids.set(each, id);
    free.delete(id);
  };
  for (const each of wanted) if (each.given !== undefined) take(each, `${name}:${each.given}`);
  const isNumbered = ({ id }: KnownTimer): boolean => /^\d+$/.test(id.slice(name.length + 1));
  for (const isSame of SAME)
    for (const each of wanted) {
      if (ids.has(each)) continue;
      const found = [...free.values()].find((timer) => isNumbered(timer) && isSame(timer, each.timer));
      if (found) take(each, found.id);
    }
  const used = new Set(known.map(({ id }) => id));
  for (const each of wanted) {
    if (ids.has(each)) continue;
    let number = 0;
    while (used.has(`${name}:${number}`)) number++;
    used.add(`${name}:${number}`);
    take(each, `${name}:${number}`);
  }
  return wanted.map((each) => ({ id: ids.get(each) as string, ...each.timer }));
}

/** Whether the timer is there as it is wanted, whatever its id. */
export function isUnchanged(known: KnownTimer, wanted: Content): boolean {
  return !known.isGone && hasTimesOf(known, wanted) && known.input === wanted.input;
}

// --- internal ---

type Content = Pick<DeclaredSchedule, 'cron' | 'timeZone' | 'input'>;

const hasTimesOf = (a: Content, b: Content): boolean => a.cron === b.cron && a.timeZone === b.timeZone;

/** From what is surely the same timer to what may be. */
const SAME: ((known: KnownTimer, wanted: Content) => boolean)[] = [
  isUnchanged,
  (known, wanted) => hasTimesOf(known, wanted) && known.input === wanted.input,
  (known, wanted) => !known.isGone && known.input === wanted.input,
  (known, wanted) => !known.isGone && hasTimesOf(known, wanted),
];
