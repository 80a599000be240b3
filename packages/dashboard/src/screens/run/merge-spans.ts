import type { Span } from './timeline.ts';

/** The spans that are known with those that have changed since, the run first and the others by the time they began. */
export function mergeSpans(known: readonly Span[], changed: readonly Span[]): Span[] {
  const newer = new Map(changed.map((span) => [span.spanId, span]));
  const [run, ...rest] = known.map((span) => {
    const next = newer.get(span.spanId);
    newer.delete(span.spanId);
    return next ? withParent(next, span) : span;
  });
  const all = [...rest, ...newer.values()];
  // Nearly all of it is in order.
  if (newer.size > 0) all.sort((a, b) => (a.startedAt < b.startedAt ? -1 : Number(a.startedAt > b.startedAt)));
  return run ? [run, ...all] : all;
}

// --- internal ---

/** Which call started a child run is reported with that call. */
function withParent(next: Span, known: Span): Span {
  const isUntold = next.kind === 'run' && next.parentId !== null && !next.parentId.includes(':');
  return isUntold && known.parentId !== null ? { ...next, parentId: known.parentId } : next;
}
