import type { OperationOutput } from '@svc/runtime/client';

export type Span = OperationOutput<'runs.timeline'>['items'][number];

/** A span where it is in the tree. */
export interface Row {
  span: Span;
  depth: number;
  hasBelow: boolean;
  isClosed: boolean;
}

/**
 * The spans as a tree, each below the one that called it; what is below a closed one is left out, and what is below a child
 * run that is not `opened`.
 */
export function toRows(
  spans: readonly Span[],
  closed: ReadonlySet<string>,
  opened: ReadonlySet<string> = NOTHING,
): Row[] {
  const below = new Map<string | null, Span[]>();
  const known = new Set(spans.map(({ spanId }) => spanId));
  for (const span of spans) {
    const parent = span.parentId !== null && known.has(span.parentId) ? span.parentId : null;
    const siblings = below.get(parent);
    if (siblings) siblings.push(span);
    else below.set(parent, [span]);
  }
  const rows: Row[] = [];
  const rest = (below.get(null) ?? []).map((span) => ({ span, depth: 0 })).reverse();
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { span, depth } = next;
    const children = below.get(span.spanId) ?? [];
    const isClosed = isChildRun(span) ? !opened.has(span.runId) : closed.has(span.spanId);
    rows.push({ span, depth, isClosed, hasBelow: children.length > 0 || isChildRun(span) });
    if (isClosed) continue;
    for (const child of children.toReversed()) rest.push({ span: child, depth: depth + 1 });
  }
  return rows;
}

/** A run that the one whose timeline it is has started. */
export function isChildRun({ kind, parentId }: Span): boolean {
  return kind === 'run' && parentId !== null;
}

/** The runs that a call has started, or waits for, as far as that is known. */
export function childrenOf(span: Span, spans: readonly Span[]): Span[] {
  if (span.kind !== 'child') return [];
  const own = spans.filter((other) => isChildRun(other) && other.parentId === span.spanId);
  if (own.length > 0 || !span.name.startsWith('wait ')) return own;
  // Its record does not say which one it waits for; where one alone has that name it is that.
  const start = `start ${span.name.slice('wait '.length)}`;
  const starts = spans.filter(({ kind, name, runId }) => kind === 'child' && name === start && runId === span.runId);
  return starts.length === 1 ? spans.filter((other) => isChildRun(other) && other.parentId === starts[0]?.spanId) : [];
}

/** A part of a bar. `backoff`: no attempt was under way. */
export interface Segment {
  from: number;
  to: number;
  as: 'whole' | 'failed' | 'last' | 'backoff' | 'running';
}

/** The attempts of a call, and how long it stood back between them; of most the whole of it. */
export function toSegments(span: Span, now: number): Segment[] {
  const { attempts = [], retryAt, status } = span;
  const start = Date.parse(span.startedAt);
  if (attempts.length === 0) return [{ from: start, to: endOf(span, now), as: 'whole' }];
  const segments: Segment[] = [];
  let at = start;
  const add = (to: number, as: Segment['as']): void => {
    if (to > at || as !== 'backoff') segments.push({ from: at, to, as });
    at = to;
  };
  for (const [index, { startedAt, endedAt }] of attempts.entries()) {
    add(Date.parse(startedAt), 'backoff');
    add(Date.parse(endedAt), index === attempts.length - 1 && status !== 'retrying' ? 'last' : 'failed');
  }
  if (status !== 'retrying') return segments;
  const due = Math.max(at, retryAt === undefined ? now : Date.parse(retryAt));
  add(Math.max(at, Math.min(now, due)), 'backoff');
  if (now > due) add(now, 'running');
  return segments;
}

/** Nothing of the author's runs while it lasts. */
const WAITS = new Set(['sleep', 'hook', 'approval']);

export function isWait({ kind }: Span): boolean {
  return WAITS.has(kind);
}

/** From a time to a place between 0 and 1. */
export interface Scale {
  start: number;
  end: number;
  toPlace(time: number): number;
  /** Stretches in which nothing ran, that take less room than they took time. */
  gaps: readonly { from: number; to: number }[];
}

/** When something ran, which is the same however late it is now. */
export interface Busy {
  start: number;
  /** Of what has ended, the last. */
  end: number;
  /** Something goes on. */
  isOpen: boolean;
  /** What is no wait, by when it began. `to` is Infinity while it goes on. */
  stretches: readonly { from: number; to: number }[];
}

/** Made once of the spans: a run has thousands, and a clock ticks each second. */
export function toBusy(spans: readonly Span[]): Busy {
  const stretches: { from: number; to: number }[] = [];
  const start = spans[0] ? Date.parse(spans[0].startedAt) : 0;
  let end = start;
  let isOpen = false;
  for (const [index, span] of spans.entries()) {
    const to = span.endedAt === null ? Infinity : Date.parse(span.endedAt);
    if (to === Infinity) isOpen = true;
    else end = Math.max(end, to);
    if (index === 0 || isWait(span)) continue;
    if (!span.attempts) stretches.push({ from: Date.parse(span.startedAt), to });
    else stretches.push(...toSegments(span, Infinity).filter(({ as }) => as !== 'backoff'));
  }
  return { start, end, isOpen, stretches: stretches.sort((a, b) => a.from - b.from) };
}

/** The time of a run; long stretches in which it only waited take a small part each where they are `folded`. */
export function toScale({ start, isOpen, ...busyTime }: Busy, now: number, folded: boolean): Scale {
  const end = Math.max(start + 1, busyTime.end, isOpen ? now : 0);
  const gaps = folded ? findGaps(busyTime.stretches, { start, end }) : [];
  const idle = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const busyPart = 1 - gaps.length * GAP_PART;
  const busy = Math.max(1, end - start - idle);
  return {
    start,
    end,
    gaps,
    toPlace(time) {
      let place = 0;
      let at = start;
      for (const { from, to } of gaps) {
        if (time <= from) break;
        place += ((from - at) / busy) * busyPart + Math.min(1, (time - from) / (to - from)) * GAP_PART;
        at = to;
        if (time <= to) return place;
      }
      return place + (Math.max(0, time - at) / busy) * busyPart;
    },
  };
}

export function endOf({ endedAt }: Span, now: number): number {
  return endedAt === null ? now : Date.parse(endedAt);
}

// --- internal ---

const NOTHING: ReadonlySet<string> = new Set();

/** Of the width, and of the time that makes a gap. */
const GAP_PART = 0.04;
const LONG_PART = 0.1;
const MOST_GAPS = 8;

function findGaps(
  stretches: Busy['stretches'],
  { start, end }: { start: number; end: number },
): { from: number; to: number }[] {
  if (stretches.length === 0) return [];
  const gaps: { from: number; to: number }[] = [];
  let at = start;
  const look = (from: number, to: number): void => {
    if (from - at > (end - start) * LONG_PART) gaps.push({ from: at, to: from });
    at = Math.max(at, to);
  };
  for (const { from, to } of stretches) if (from <= end) look(from, Math.min(to, end));
  look(end, end);
  return gaps
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, MOST_GAPS)
    .sort((a, b) => a.from - b.from);
}
