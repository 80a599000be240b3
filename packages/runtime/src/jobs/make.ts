import { parseWakeTime } from '../engine/duration.ts';
import type { ScheduleRequest } from '../engine/handle.ts';
import type { MadeSchedule } from '../engine/journal/schedules.ts';
import { digestOf, encode } from '../engine/serialize.ts';
import { listModelCallers, startedByOf } from '../engine/started-by.ts';
import { encodeGiven } from '../engine/values/given.ts';
import { nextFire } from '../definitions/cron.ts';
import { toArmedBy } from './armed-by.ts';

/** What code that runs asked for, as a timer. Throws a sentence that names what is wrong. */
export function toMadeSchedule({ name, input, when, id, by }: ScheduleRequest, now: number): MadeSchedule {
  if (!/^[\w.:-]{1,200}$/.test(id))
    throw new TypeError(`"${id}" cannot name a timer. Use up to 200 letters, digits and . _ - :`);
  const given = ['cron', 'at', 'in'].filter((key) => when[key as keyof typeof when] !== undefined);
  if (given.length !== 1) throw new TypeError('A timer has exactly one of "cron", "at" and "in".');
  const { cron = null, timeZone = null } = when;
  const text = encodeGiven(input, 'input');
  return {
    id: `${name}@${id}`,
    name,
    cron,
    timeZone: cron === null ? null : timeZone,
    input: text,
    nextAt: cron === null ? onceAt(when, now) : nextFire(cron, timeZone, now),
    digest: digestOf(encode({ input: text, ...when }, 'schedule')),
    armedBy: toArmedBy(listModelCallers(startedByOf(by))),
  };
}

// --- internal ---

function onceAt({ at, in: after }: ScheduleRequest['when'], now: number): number {
  if (after !== undefined) return Math.floor(parseWakeTime(after, now));
  const date = at instanceof Date ? at : new Date(at as string | number);
  if (Number.isNaN(date.getTime())) throw new RangeError(`"${String(at)}" is no time. Use a Date, or ISO 8601.`);
  return date.getTime();
}
