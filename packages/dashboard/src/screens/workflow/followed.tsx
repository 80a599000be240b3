import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Json } from '../../ui/json/json.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Panel } from '../../ui/page.tsx';
import { toDuration } from '../../ui/time.tsx';

/** What happens to the start that the address names: it waits, it runs, it has ended. */
export function Followed({ name }: { name: string }) {
  const [{ run, trigger }] = useSearchState();
  if (run) return <FollowedRun id={run} />;
  if (trigger) return <FollowedStart name={name} triggerId={trigger} />;
  return (
    <Panel>
      <Empty title="What you start is followed here">Its steps as they end, and what it gives.</Empty>
    </Panel>
  );
}

// --- internal ---

function FollowedStart({ name, triggerId }: { name: string; triggerId: string }) {
  const queued = useCall('workflows.queued', { name, triggerId });
  return (
    <Answer of={queued}>
      {({ runId, status }) =>
        runId ? (
          <FollowedRun id={runId} />
        ) : (
          <Panel title="Started">
            <div role="status">
              <Status value={status} /> It waits in the queue, and becomes a run by itself.
            </div>
          </Panel>
        )
      }
    </Answer>
  );
}

function FollowedRun({ id }: { id: string }) {
  const run = useCall('runs.get', { id });
  const steps = useList('runs.steps', { id, limit: 200 });
  return (
    <Answer of={run}>
      {(detail) => (
        <Panel title="Started" actions={<Link to={`/runs/${id}`}>Open the run</Link>}>
          <div role="status" className="flex flex-wrap items-center gap-2">
            <Status value={detail.status} />
            <code className="text-xs">{id.slice(0, 8)}</code>
            {detail.endedAt && detail.startedAt && (
              <span className="text-muted">
                {toDuration(new Date(detail.endedAt).getTime() - new Date(detail.startedAt).getTime())}
              </span>
            )}
          </div>
          <Steps items={steps.items ?? []} />
          <More has={steps.hasNextPage} busy={steps.isFetchingNextPage} onMore={() => void steps.fetchNextPage()} />
          {detail.error && (
            <div className="mt-3 rounded border border-bad bg-bad-soft px-3 py-2">
              <p className="wrap-anywhere text-bad">
                <bdi>{detail.error.message}</bdi>
              </p>
              <code className="text-xs">{detail.error.code}</code>
            </div>
          )}
          {detail.status === 'completed' && (
            <div className="mt-3">
              <h3 className="mb-1 font-medium">Output</h3>
              <Json value={detail.output} label="Output" />
            </div>
          )}
        </Panel>
      )}
    </Answer>
  );
}

type Step = OperationOutput<'runs.steps'>['items'][number];

function Steps({ items }: { items: Step[] }) {
  if (items.length === 0) return null;
  return (
    <ol aria-label="Steps" className="mt-3 flex flex-col gap-1">
      {items.map((step) => (
        <li key={step.stepId} className="flex flex-wrap items-center gap-2">
          <Status value={step.status} />
          <bdi>{step.name}</bdi>
        </li>
      ))}
    </ol>
  );
}
