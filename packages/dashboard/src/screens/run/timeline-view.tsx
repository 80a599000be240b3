import { useMemo, useRef } from 'react';
import type { KeyboardEvent } from 'react';
import { Link } from '../../ui/link.tsx';
import { Rows, showRow } from '../../ui/rows.tsx';
import { toDuration, useNow } from '../../ui/time.tsx';
import { endOf, isChildRun, isWait, toBusy, toRows, toScale, toSegments } from './timeline.ts';
import type { Row, Scale, Segment, Span } from './timeline.ts';

export interface TimelineProps {
  spans: readonly Span[];
  isLive: boolean;
  isFolded: boolean;
  /** The id of the span whose details are open. */
  selected: string | undefined;
  onSelect(spanId: string): void;
  /** The child runs whose calls are among the spans. */
  opened: ReadonlySet<string>;
  onOpen(runId: string, isOpen: boolean): void;
  /** The spans whose calls are not shown. */
  closed: ReadonlySet<string>;
  onClose(spanId: string, isClosed: boolean): void;
  /** Goes to the run. */
  onGo(runId: string): void;
}

const ROW = 28;
const MOST_HEIGHT = 560;

/**
 * A row a span: who called whom on the left, when on the right. Arrows move, left and right close and open, Enter goes to a
 * child run.
 */
export function Timeline(props: TimelineProps) {
  const { spans, isLive, isFolded, selected, onSelect, opened, onOpen, closed, onClose, onGo } = props;
  const element = useRef<HTMLDivElement>(null);
  const time = useNow(isLive ? 1_000 : 60_000);
  // What a run that is over has left open lasted as long as the run.
  const now = isLive ? time : Date.parse(spans[0]?.endedAt ?? spans[0]?.startedAt ?? '');
  const rows = useMemo(() => toRows(spans, closed, opened), [spans, closed, opened]);
  const busy = useMemo(() => toBusy(spans), [spans]);
  const scale = useMemo(() => toScale(busy, now, isFolded), [busy, now, isFolded]);
  const at = rows.findIndex(({ span }) => span.spanId === selected);

  const select = (index: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (!row) return;
    onSelect(row.span.spanId);
    showRow(element.current, rows.indexOf(row), ROW);
  };
  const fold = ({ span }: Row, isClosed: boolean) => {
    if (isChildRun(span)) return onOpen(span.runId, !isClosed);
    onClose(span.spanId, isClosed);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[at];
    const moves: Record<string, () => void> = {
      ArrowDown: () => select(at + 1),
      ArrowUp: () => select(at - 1),
      PageDown: () => select(at + 15),
      PageUp: () => select(at - 15),
      Home: () => select(0),
      End: () => select(rows.length - 1),
      ArrowLeft: () => row && fold(row, true),
      ArrowRight: () => row && fold(row, false),
      ...(row && isChildRun(row.span) ? { Enter: () => onGo(row.span.runId) } : {}),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  };
  return (
    <Rows
      role="tree"
      aria-label="Timeline"
      aria-activedescendant={at < 0 ? undefined : `span-${at}`}
      tabIndex={0}
      handle={element}
      count={rows.length}
      rowHeight={ROW}
      onKeyDown={onKeyDown}
      style={{ height: Math.min(rows.length * ROW + 2, MOST_HEIGHT) }}
      className="max-h-[60vh] rounded-lg border border-line bg-panel"
    >
      {(index) => {
        const row = rows[index] as Row;
        return (
          <Line
            row={row}
            index={index}
            scale={scale}
            now={now}
            isSelected={index === at}
            onSelect={() => onSelect(row.span.spanId)}
            onFold={() => fold(row, !row.isClosed)}
          />
        );
      }}
    </Rows>
  );
}

// --- internal ---

interface LineProps {
  row: Row;
  index: number;
  scale: Scale;
  now: number;
  isSelected: boolean;
  onSelect(): void;
  onFold(): void;
}

function Line({
  row: { span, depth, hasBelow, isClosed },
  index,
  scale,
  now,
  isSelected,
  onSelect,
  onFold,
}: LineProps) {
  const from = Date.parse(span.startedAt);
  const to = endOf(span, now);
  const duration = toDuration(to - from);
  return (
    <div
      id={`span-${index}`}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-label={`${span.kind} ${span.name}, ${span.status}, ${duration}${span.attempt > 1 ? `, attempt ${span.attempt}` : ''}`}
      {...(hasBelow ? { 'aria-expanded': !isClosed } : {})}
      onClick={onSelect}
      className={`flex h-full cursor-pointer items-center gap-2 border-b border-line/50 px-2 text-xs ${isSelected ? 'bg-accent-soft' : 'hover:bg-raised'}`}
    >
      <div className="flex w-2/5 min-w-0 items-center gap-1 md:w-1/3" style={{ paddingLeft: Math.min(depth, 8) * 14 }}>
        <span
          aria-hidden="true"
          className="w-4 shrink-0 text-center text-muted"
          onClick={(event) => {
            if (!hasBelow) return;
            event.stopPropagation();
            onFold();
          }}
        >
          {hasBelow ? (isClosed ? '▸' : '▾') : ''}
        </span>
        <span className="w-12 shrink-0 text-muted">{span.kind}</span>
        <bdi className="truncate font-mono">{span.name}</bdi>
        {span.attempt > 1 && <span className="shrink-0 text-warn">×{span.attempt}</span>}
        {isChildRun(span) && (
          <span className="shrink-0" onClick={(event) => event.stopPropagation()}>
            <Link to={`/runs/${span.runId}`} aria-label={`Open the run of ${span.name}`}>
              open
            </Link>
          </span>
        )}
      </div>
      <div className="relative h-4 min-w-0 flex-1 overflow-hidden rounded-sm bg-page">
        {scale.gaps.map(({ from: gap, to: end }) => (
          <span
            key={gap}
            className="absolute inset-y-0 border-x border-dashed border-line"
            style={{ left: toPercent(scale.toPlace(gap)), width: toPercent(scale.toPlace(end) - scale.toPlace(gap)) }}
          />
        ))}
        {toSegments(span, now).map((segment) => (
          <Part key={`${segment.from}-${segment.as}`} segment={segment} span={span} scale={scale} />
        ))}
      </div>
      <span className="hidden w-20 shrink-0 text-right text-muted tabular-nums lg:block">
        {span.totalTokens > 0 ? `${span.totalTokens.toLocaleString('en')} tok` : ''}
      </span>
      <span className="w-20 shrink-0 text-right tabular-nums">{duration}</span>
    </div>
  );
}

function Part({ segment: { from, to, as }, span, scale }: { segment: Segment; span: Span; scale: Scale }) {
  const left = scale.toPlace(from);
  const width = Math.max(as === 'backoff' ? 0 : 0.002, scale.toPlace(to) - left);
  return (
    <span
      data-segment={as}
      className={`absolute rounded-sm ${as === 'backoff' ? 'hatched inset-y-1.5' : 'inset-y-0.5'} ${LOOKS[as] ?? toBar(span)}`}
      style={{ left: toPercent(Math.min(left, 0.998)), width: toPercent(width) }}
    />
  );
}

/** Of the others that of the span. */
const LOOKS: Partial<Record<Segment['as'], string>> = {
  failed: 'border-r border-page bg-bad',
  backoff: 'border-y border-muted',
  running: 'animate-pulse bg-accent',
};

function toBar(span: Span): string {
  if (span.status === 'failed') return 'bg-bad';
  if (span.status === 'cancelled') return 'bg-muted';
  if (isWait(span)) return 'hatched border border-muted';
  if (span.status === 'retrying') return 'bg-warn';
  return span.endedAt === null ? 'bg-accent animate-pulse' : span.kind === 'run' ? 'bg-accent/60' : 'bg-accent';
}

function toPercent(part: number): string {
  return `${(part * 100).toFixed(3)}%`;
}
