const UNITS: Record<string, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const WORDS: Record<string, string> = {
  millisecond: 'ms',
  msec: 'ms',
  second: 's',
  sec: 's',
  minute: 'm',
  min: 'm',
  hour: 'h',
  hr: 'h',
  day: 'd',
  week: 'w',
};

/** A timer of more milliseconds than this fires at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** The longest wait there is: 100 years. One without an end is a hook. */
export const LONGEST_WAIT_MS = 100 * 365.25 * 86_400_000;

/**
 * Milliseconds of a duration, which may be a fraction: a number of milliseconds, or text such as `'10s'`,
 * `'1.5 hours'`, `'2 days'`. Throws a RangeError that names the value.
 */
export function parseDuration(value: number | string): number {
  const ms = typeof value === 'number' ? value : parseText(value);
  if (ms === undefined || !Number.isFinite(ms) || ms < 0)
    throw new RangeError(
      `"${value}" is not a duration. Use milliseconds, or text such as "10s", "5 minutes", "2 days".`,
    );
  return ms;
}

/** The moment a wait ends, in whole milliseconds: a duration from `now`, which never ends early, or the Date itself. */
export function parseWakeTime(value: number | string | Date, now: number): number {
  if (!(value instanceof Date)) {
    const ms = parseDuration(value);
    if (ms <= LONGEST_WAIT_MS) return Math.ceil(now + ms);
    throw new RangeError(`"${value}" is too long: a wait is at most 100 years. To wait without an end, use a hook.`);
  }
  const time = value.getTime();
  if (Number.isNaN(time)) throw new RangeError('The Date to wait for is invalid.');
  return time;
}

// --- internal ---

function parseText(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text);
  if (!match) return undefined;
  const word = (match[2] ?? '').toLowerCase();
  const factor = UNITS[word] ?? UNITS[WORDS[word.replace(/s$/, '')] ?? ''];
  if (word === '' || factor === undefined) return undefined;
  return Number(match[1]) * factor;
}
