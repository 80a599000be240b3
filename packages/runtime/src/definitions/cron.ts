import { Cron } from 'croner';

/** The first time after `now` the expression names, in milliseconds since 1970. Throws a sentence that names what is wrong. */
export function nextFire(cron: string, timeZone: string | null, now: number): number {
  const next = find(cron, timeZone, now);
  if (!next) throw new RangeError(`The schedule "${cron}" never fires.`);
  return next.getTime();
}

// --- internal ---

function find(cron: string, timeZone: string | null, now: number): Date | null {
  if (cron.trim().split(/\s+/).length !== 5)
    throw new RangeError(`The schedule "${cron}" must have five fields: minute, hour, day, month, day of the week.`);
  try {
    // A zone that does not exist is found out when a time is asked for.
    return new Cron(cron, { paused: true, ...(timeZone === null ? {} : { timezone: timeZone }) }).nextRun(
      new Date(now),
    );
  } catch (error) {
    throw new RangeError(`The schedule "${cron}" is not usable: ${(error as Error).message}`, { cause: error });
  }
}
