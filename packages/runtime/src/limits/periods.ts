export interface Periods {
  day: string;
  month: string;
}

/** The day and the month of UTC. */
export function periodsAt(at: number): Periods {
  const day = new Date(at).toISOString().slice(0, 10);
  return { day, month: day.slice(0, 7) };
}

/** What a period of `periodsAt` is. */
export function unitOf(period: string): 'day' | 'month' {
  return period.length === LENGTH.day ? 'day' : 'month';
}

/** Characters of a period. */
export const LENGTH = { day: '2026-11-23'.length, month: '2026-11'.length };
