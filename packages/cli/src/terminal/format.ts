import type { Problem } from '@svc/runtime/host';
/** `12s ago`, `5m ago`, `3h ago`, `2d ago`; `-` when there is no time. */
export function formatAgo(time: string | null | undefined, now: number): string {
  if (!time) return '-';
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return '-';
  if (seconds < 60) return `${seconds}s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ago`;
  return `${Math.floor(seconds / 86_400)}d ago`;
}

/** A time that may be to come: `in 5m`, else as `formatAgo` has it. */
export function formatWhen(time: string | null | undefined, now: number): string {
  const ahead = time ? Date.parse(time) - now : Number.NaN;
  // The last second of a time to come is now.
  return ahead >= 1_000
    ? `in ${formatAgo(new Date(now - ahead).toISOString(), now).replace(' ago', '')}`
    : formatAgo(time, now);
}

/** From start to end, or to `now` while it has none; `-` when it has not started. */
export function formatDuration(start: string | null | undefined, end: string | null | undefined, now: number): string {
  if (!start) return '-';
  const ms = Math.max(0, (end ? Date.parse(end) : now) - Date.parse(start));
  if (Number.isNaN(ms)) return '-';
  if (ms < 1000) return `${ms}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}m ${Math.floor((ms % 60_000) / 1000)}s`;
  return `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}

/** `items[0].qty` for `['items', 0, 'qty']`; `(input)` for the whole payload. */
export function formatPath(path: readonly unknown[]): string {
  if (path.length === 0) return '(input)';
  return path
    .map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i > 0 ? '.' : ''}${String(part)}`))
    .join('');
}

/** Any value as indented JSON; a text with line breaks as it is. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string' && value.includes('\n')) return value;
  return JSON.stringify(value, null, 2) ?? 'none';
}

/** Where it is, its code, what to do, and the source around it. */
export function formatProblem(problem: Problem): string {
  const frame = problem.frame === '' ? '' : `\n${problem.frame}`;
  return `${problem.file}:${problem.line}:${problem.column} ${problem.code}: ${problem.message}${frame}`;
}
