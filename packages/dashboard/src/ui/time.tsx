import { useEffect, useState } from 'react';

/** How long ago, or until; the whole of it on hover. */
export function Time({ at }: { at: string | number | null | undefined }) {
  useNow(10_000);
  if (at === null || at === undefined) return <span className="text-muted">–</span>;
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={toWhole(date)} className="whitespace-nowrap">
      {/* What was read after the last tick is not of the future. */}
      {toRelative(date.getTime() - Date.now())}
    </time>
  );
}

/** The day and the time of it, to the second. */
export function toWhole(at: string | Date): string {
  return WHOLE.format(typeof at === 'string' ? new Date(at) : at);
}

/** The time of day that counts on by itself. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function toRelative(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds < 5) return 'now';
  const text = toAmount(seconds);
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

/** `850 ms`, `2.4 s`, `3 min 5 s`, `2 h 4 min`, `3 d 4 h`. */
export function toDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(ms / 3_600_000);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// --- internal ---

/** Made once: it takes a millisecond or two, and a list has a hundred times. */
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

function toAmount(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
