import { Navigate, useRouterState } from '@tanstack/react-router';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Link } from '../../ui/link.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { Time, useNow } from '../../ui/time.tsx';
import { useProbes } from '../health/probes.ts';
import { useSetupNeeded, useSetupPassed } from '../setup/use-needed.ts';
import { Bars } from './bars.tsx';
import { UsedMost } from './used-most.tsx';

type Stats = OperationOutput<'runs.stats'>['items'];

export default function Overview() {
  // It moves on with the hour, in a page that is left open.
  const from = new Date(Math.ceil(useNow(MINUTE) / HOUR) * HOUR - HOURS * HOUR).toISOString();
  const stats = useCall('runs.stats', { bucket: 'hour', from }, { keep: true });
  const isNeeded = useSetupNeeded();
  const { isPassed } = useSetupPassed();
  const may = useMay();
  const maySetUp = may('provider:write');
  // Who comes from another screen wants this one.
  const isArrival = useRouterState({ select: ({ location }) => (location.state.__TSR_index ?? 0) === 0 });
  if (isArrival && maySetUp && !isPassed) {
    if (isNeeded) return <Navigate to={'/setup' as never} replace />;
    if (isNeeded === undefined)
      return (
        <Page title="Overview">
          <Loading rows={8} />
        </Page>
      );
  }
  return (
    <Page title="Overview">
      <HealthStrip />
      {isNeeded && (
        <p className="mb-4 rounded-lg border border-warn bg-warn-soft px-4 py-2 text-warn">
          Something that this box needs is missing yet. <Link to="/setup">Setup</Link>
        </p>
      )}
      <Answer of={stats} rows={8}>
        {({ items }) => (
          <div className="grid gap-4 md:grid-cols-2">
            <Panel title="Runs per hour">
              <Bars
                label="Runs of the last 24 hours"
                bars={toBars(items, from, ({ runs, statuses }) => [
                  runs - (statuses.failed ?? 0),
                  statuses.failed ?? 0,
                ])}
                words={['ended well or go on', 'failed']}
              />
            </Panel>
            <Panel title="Tokens per hour">
              <Bars
                label="Tokens of the last 24 hours"
                bars={toBars(items, from, ({ inputTokens, outputTokens }) => [inputTokens, outputTokens])}
                words={['in', 'out']}
                second="plain"
              />
            </Panel>
          </div>
        )}
      </Answer>
      <div className="grid gap-4 md:grid-cols-2">
        <Waiting />
        <Failed />
        <Timers />
        {may('keys:read') && <UsedMost />}
      </div>
    </Page>
  );
}

// --- internal ---

const MINUTE = 60_000;
const HOUR = 3_600_000;
const HOURS = 24;
const FEW = 5;

function toBars(items: Stats, from: string, of: (stats: Stats[number]) => [number, number]) {
  const byStart = new Map(items.map((item) => [Date.parse(item.start), item]));
  return Array.from({ length: HOURS }, (_, i) => {
    const start = Date.parse(from) + i * HOUR;
    const item = byStart.get(start);
    return { start, parts: item ? of(item) : ([0, 0] as [number, number]) };
  });
}

function HealthStrip() {
  const probes = useProbes();
  if (!probes.data)
    return (
      <p className="mb-4 flex h-7 items-center gap-2">
        {probes.error !== null && (
          <>
            <Badge tone="bad">Whether the box is ready is not known</Badge>
            <Link to="/health">Health</Link>
          </>
        )}
      </p>
    );
  const { isReady, parts } = probes.data;
  const failed = parts.filter(({ isGood }) => !isGood);
  return (
    <p className="mb-4 flex h-7 items-center gap-2">
      <Badge tone={isReady ? 'good' : 'bad'}>{isReady ? 'The box is ready' : 'The box is not ready'}</Badge>
      <span className="truncate text-muted">{failed.map(({ name, text }) => `${name}: ${text}`).join(', ')}</span>
      <Link to="/health">Health</Link>
    </p>
  );
}

function Waiting() {
  const approvals = useCall('approvals.list', { status: 'pending', limit: FEW });
  return (
    <Panel title="Waits for a person" actions={<Link to="/approvals">Approvals</Link>}>
      <Answer of={approvals} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="Nothing waits for a decision">
              What workflows and agents ask people appears here by itself.
            </Empty>
          ) : (
            <ul>
              {items.map(({ approvalId, title, createdAt }) => (
                <li key={approvalId} className="flex gap-2 py-1">
                  <Link to="/approvals" search={{ open: approvalId }} className="min-w-0 flex-1 truncate text-accent">
                    <bdi>{title}</bdi>
                  </Link>
                  <Time at={createdAt} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}

function Failed() {
  const runs = useCall('runs.list', { status: 'failed', limit: FEW });
  return (
    <Panel
      title="Failed last"
      actions={
        <Link to="/runs" search={{ status: 'failed' }}>
          All failed runs
        </Link>
      }
    >
      <Answer of={runs} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No run has failed">
              What is under way is under <Link to="/runs">Runs</Link>.
            </Empty>
          ) : (
            <ul>
              {items.map(({ runId, name, error, endedAt }) => (
                <li key={runId} className="flex gap-2 py-1">
                  <Link to={`/runs/${runId}`} className="max-w-40 shrink-0 truncate text-accent">
                    <bdi>{name}</bdi>
                  </Link>
                  <bdi className="min-w-0 flex-1 truncate text-muted">{error?.message.slice(0, 200)}</bdi>
                  <Time at={endedAt} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  );
}

function Timers() {
  const jobs = useCall('jobs.list', { limit: 200 });
  return (
    <Panel title="Next timers" actions={<Link to="/jobs">Recurring jobs</Link>}>
      <Answer of={jobs} rows={3}>
        {({ items }) => {
          const next = items
            .filter(({ nextFireAt }) => nextFireAt !== null)
            .sort((a, b) => (a.nextFireAt ?? '').localeCompare(b.nextFireAt ?? ''))
            .slice(0, FEW);
          if (next.length === 0)
            return (
              <Empty title="No timer is armed">
                A workflow declares its own with <code>schedules</code>.
              </Empty>
            );
          return (
            <ul>
              {next.map(({ id, workflow, cron, nextFireAt }) => (
                <li key={id} className="flex gap-2 py-1">
                  <bdi className="min-w-0 flex-1 truncate">{workflow}</bdi>
                  {cron !== null && <code className="text-muted">{cron}</code>}
                  <Time at={nextFireAt} />
                </li>
              ))}
            </ul>
          );
        }}
      </Answer>
    </Panel>
  );
}
