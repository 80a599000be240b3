import type { Search } from '../../app/search.ts';
import { readTime } from '../../ui/time-field.tsx';

/** Spans of time by their name in the address, and what they are called. */
export const SPANS = [
  ['hour', 'In the last hour'],
  ['day', 'In the last day'],
  ['yesterday', 'Yesterday'],
  ['week', 'In the last week'],
  ['between', 'Between two times'],
] as const;

/** When the runs of a list were created: from then on, and before. */
export function toSpan({ since = '', from, to }: Search, now = new Date()): { from?: string; to?: string } {
  const ms = LENGTHS[since];
  if (ms !== undefined) return { from: new Date(Math.floor((now.getTime() - ms) / 60_000) * 60_000).toISOString() };
  if (since === 'yesterday') return { from: toMidnight(now, -1), to: toMidnight(now, 0) };
  if (since !== 'between') return {};
  const [first, last] = [readTime(from), readTime(to)];
  return { ...(first ? { from: first } : {}), ...(last ? { to: last } : {}) };
}

// --- internal ---

const LENGTHS: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 };

/** Where the person is: a day there may have 23 hours. */
function toMidnight(now: Date, days: number): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days).toISOString();
}
