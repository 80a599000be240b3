import { Cron } from 'croner';

/**
 * The first time after `now` the expression names, in milliseconds since 1970. Throws a sentence that names what is wrong.
 * Without a zone its times are in UTC, wherever the process runs.
 *
 * Where the clocks change, each time of the day that it names counts once: those the clocks skip are made up for by one
 * firing when the gap is over, those that come twice fire the first time. What names every hour goes on by real time.
 */
export function nextFire(cron: string, timeZone: string | null, now: number): number {
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5)
    throw new RangeError(`The schedule "${cron}" must have five fields: minute, hour, day, month, day of the week.`);
  const next = ask(cron, timeZone, () => {
    if (timeZone === null || EVERY_HOUR.test(fields[1] ?? '')) return nextReal(cron, timeZone ?? 'UTC', now);
    return nextNamed(cron, createZone(timeZone), now);
  });
  if (next === undefined) throw new RangeError(`The schedule "${cron}" never fires.`);
  return next;
}

// --- internal ---

const EVERY_HOUR = /^(\*|\*\/1|0-23)$/;
const DAY_MS = 24 * 60 * 60 * 1000;
const MINUTE_MS = 60_000;

function ask<T>(cron: string, timeZone: string | null, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new RangeError(`The schedule "${cron}" is not usable: ${explain(cron, timeZone, error)}`, { cause: error });
  }
}

/** What each field may be, in their order. */
const FIELDS = [
  { name: 'minute', range: '0 to 59' },
  { name: 'hour', range: '0 to 23' },
  { name: 'day of the month', range: '1 to 31' },
  { name: 'month', range: '1 to 12, or jan to dec' },
  { name: 'day of the week', range: '0 to 7, where 0 and 7 are Sunday, or sun to sat' },
];

/** The field that is wrong when it stands alone, else the zone, else what the parser says. */
function explain(cron: string, timeZone: string | null, error: unknown): string {
  const fields = cron.trim().split(/\s+/);
  const at = FIELDS.findIndex(
    (_, index) => !isUsable(FIELDS.map((_one, i) => (i === index ? fields[i] : '*')).join(' ')),
  );
  const field = FIELDS[at];
  if (field)
    return `"${fields[at]}" is no ${field.name}. Use ${field.range}; with ranges (1-5), lists (1,3) and steps (*/2).`;
  if (timeZone !== null && !isZone(timeZone))
    return `There is no time zone "${timeZone}". Use a name such as Europe/Madrid.`;
  return (error as Error).message;
}

function isUsable(cron: string): boolean {
  try {
    return Boolean(new Cron(cron, { paused: true }));
  } catch {
    return false;
  }
}

function isZone(timeZone: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone }));
  } catch {
    return false;
  }
}

function nextReal(cron: string, timezone: string, now: number): number | undefined {
  // A zone that does not exist is found out when a time is asked for.
  return new Cron(cron, { paused: true, timezone }).nextRun(new Date(now))?.getTime();
}

/** Goes by what a clock on the wall shows, written as if it were UTC, and turns that into a moment. */
function nextNamed(cron: string, zone: Zone, now: number): number | undefined {
  const clock = new Cron(cron, { paused: true, timezone: 'UTC' });
  for (let wall = new Date(zone.toWall(now)); ;) {
    const next = clock.nextRun(wall);
    if (!next) return undefined;
    const at = zone.toMoment(next.getTime());
    // It was the first time, or the gap is over: that has fired.
    if (at > now) return at;
    wall = next;
  }
}

interface Zone {
  /** What the clocks show then, as if it were UTC. */
  toWall(at: number): number;
  /** The first moment at which they show it; when they skip it, the end of the gap. */
  toMoment(wall: number): number;
}

function createZone(timeZone: string): Zone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offsetOf = (at: number): number => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day, hour, minute, second } = parts;
    const shown = Date.UTC(year, month - 1, day, hour, minute, second);
    return shown - Math.floor(at / 1_000) * 1_000;
  };
  return {
    toWall: (at) => at + offsetOf(at),
    toMoment(wall) {
      const before = offsetOf(wall - DAY_MS);
      const after = offsetOf(wall + DAY_MS);
      const shows = (at: number) => at + offsetOf(at) === wall;
      const found = [wall - Math.max(before, after), wall - Math.min(before, after)].find(shows);
      if (found !== undefined) return found;
      // Clocks change at a full minute.
      let early = wall - after;
      let late = wall - before;
      while (late - early > MINUTE_MS) {
        const middle = early + Math.floor((late - early) / 2 / MINUTE_MS) * MINUTE_MS;
        if (offsetOf(middle) === before) early = middle;
        else late = middle;
      }
      return late;
    },
  };
}
