import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { toCount } from '../../ui/count.ts';
import { Details } from './details.tsx';
import { isFinal } from './final.ts';
import { readIds, writeIds } from './in-address.ts';
import { Timeline } from './timeline-view.tsx';
import { useTimeline } from './use-timeline.ts';

type Run = OperationOutput<'runs.get'>;

/** The calls of a run as a tree over time, and the details of the one that is open. */
export function TimelineTab({ run }: { run: Run }) {
  const [{ span, idle, children, closed: folded }, setSearch] = useSearchState();
  const opened = useMemo(() => readIds(children), [children]);
  const closed = useMemo(() => readIds(folded), [folded]);
  const navigate = useNavigate();
  const timeline = useTimeline(run.runId, opened);
  const isFolded = idle !== 'shown';
  return (
    <Answer of={timeline} rows={12}>
      {(spans) => {
        const chosen = spans.find(({ spanId }) => spanId === span);
        return (
          <div className="grid gap-4 xl:grid-cols-[minmax(0,2fr)_minmax(20rem,1fr)]">
            <div className="min-w-0">
              <div className="mb-2 flex items-center gap-2 text-xs text-muted">
                <span className="flex-1">{toCount(spans.length - 1)} calls and child runs</span>
                <Button
                  small
                  aria-pressed={isFolded}
                  onClick={() => setSearch({ idle: isFolded ? 'shown' : undefined })}
                >
                  {isFolded ? 'Idle time is collapsed' : 'Collapse idle time'}
                </Button>
              </div>
              <Timeline
                spans={spans}
                isLive={!isFinal(run)}
                isFolded={isFolded}
                selected={span}
                onSelect={(spanId) => setSearch({ span: spanId })}
                opened={opened}
                onOpen={(runId, isOpen) => setSearch({ children: writeIds(opened, runId, isOpen) })}
                closed={closed}
                onClose={(spanId, isClosed) => setSearch({ closed: writeIds(closed, spanId, isClosed) })}
                onGo={(runId) => void navigate({ to: `/runs/${runId}` as never })}
              />
            </div>
            <div className="min-w-0">
              {chosen ? (
                <Details run={run} span={chosen} spans={spans} />
              ) : (
                <p className="text-muted">Choose a row to see its input, its output and its attempts.</p>
              )}
            </div>
          </div>
        );
      }}
    </Answer>
  );
}
