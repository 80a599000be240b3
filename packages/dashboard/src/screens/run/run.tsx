import type { ReactNode } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { usePathParams, useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { toCost } from '../../ui/cost.ts';
import { Copy } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Time, toDuration, useNow } from '../../ui/time.tsx';
import { Value } from '../../ui/value.tsx';
import { LogLines } from '../logs/log-lines.tsx';
import { useRunLogs } from '../logs/use-logs.ts';
import { RunActions } from './actions.tsx';
import { RunApprovals } from './approvals.tsx';
import { Fault } from './fault.tsx';
import { isFinal } from './final.ts';
import { Published } from './published.tsx';
import { Repeats } from './repeats.tsx';
import { TimelineTab } from './timeline-tab.tsx';
import { Webhooks } from './webhooks.tsx';
import { WhyPanel } from './why.tsx';

type Run = OperationOutput<'runs.get'>;

export default function RunScreen() {
  const { id = '' } = usePathParams();
  const [search, setSearch] = useSearchState();
  const may = useMay();
  const run = useCall('runs.get', { id });
  const { tab = 'timeline' } = search;
  if (run.error && run.data === undefined)
    return (
      <Page title="Run">
        <Failure error={run.error} onRetry={() => void run.refetch()} />
      </Page>
    );
  return (
    <Answer of={run} rows={12}>
      {(one) => (
        <Page
          wide
          title={
            <>
              <bdi>{one.name}</bdi> <Status value={one.status} />
            </>
          }
          actions={<RunActions run={one} />}
        >
          <Facts run={one} />
          {one.error && <Fault error={one.error} />}
          <RunApprovals id={id} />
          {one.status !== 'completed' && <WhyPanel id={id} />}
          <Tabs
            label="Of this run"
            value={tab}
            onChange={(next) => setSearch({ tab: next === 'timeline' ? undefined : next })}
            tabs={[
              { id: 'timeline', title: 'Timeline', content: () => <TimelineTab key={id} run={one} /> },
              {
                id: 'values',
                title: 'Input and output',
                content: () => (
                  <>
                    <Value label="Input" value={one.input} />
                    {one.status === 'completed' && <Value label="Output" value={one.output} />}
                    {one.waitingFor !== null && <Value label="Waits for" value={one.waitingFor} />}
                    {Object.keys(one.attributes).length > 0 && <Value label="Attributes" value={one.attributes} />}
                  </>
                ),
              },
              { id: 'published', title: 'State and streams', content: () => <Published id={id} /> },
              ...(may('hitl:decide')
                ? [{ id: 'webhooks', title: 'Webhooks', content: () => <Webhooks id={id} /> }]
                : []),
              ...(may('logs:read') ? [{ id: 'logs', title: 'Logs', content: () => <LogsTab id={id} /> }] : []),
            ]}
          />
        </Page>
      )}
    </Answer>
  );
}

// --- internal ---

function LogsTab({ id }: { id: string }) {
  const logs = useRunLogs(id);
  return (
    <LogLines
      {...logs}
      empty={
        <Empty title="This run has logged nothing">
          Its steps do with <code>svc.log.info</code>. The tab <i>Timeline</i> says what it did.
        </Empty>
      }
    />
  );
}

function Facts({ run }: { run: Run }) {
  const now = useNow(1_000);
  const from = Date.parse(run.startedAt ?? run.createdAt);
  const until = run.endedAt === null ? now : Date.parse(run.endedAt);
  const facts: [string, ReactNode][] = [
    [
      'Run',
      <>
        <code>{run.runId}</code> <Copy text={run.runId} what="the run id" />
      </>,
    ],
    ['Started', <Time at={run.startedAt} />],
    [run.endedAt === null ? 'For' : 'Took', toDuration(Math.max(0, until - from))],
    ['Trigger', run.trigger],
    ...(run.startedBy ? [['By', <bdi>{run.startedBy.name}</bdi>] as [string, ReactNode]] : []),
    ...(run.totalTokens > 0
      ? [
          [
            'Tokens',
            `${run.totalTokens.toLocaleString('en')} (${run.inputTokens.toLocaleString('en')} in, ${run.outputTokens.toLocaleString('en')} out)`,
          ] as [string, ReactNode],
        ]
      : []),
    ...(run.cost === undefined ? [] : [['Cost', toCost(run.cost)] as [string, ReactNode]]),
    ...toLink('Parent', run.parentRunId),
    ...toLink('Repeats', run.retryOf),
    ...toLink(run.trigger === 'rewind' ? 'Goes on for' : 'Forked from', run.forkedFrom?.runId ?? null),
    ...toLink('Continues', run.continuedFrom),
    ...toLink('Continued as', run.continuedTo),
    ...(run.sessionId === null
      ? []
      : [
          ['Session', <Link to={`/sessions/${run.sessionId}`}>{run.sessionId.slice(0, 8)}</Link>] as [
            string,
            ReactNode,
          ],
        ]),
    [
      'More',
      <>
        <Link to="/runs" search={{ parent: run.runId }}>
          Runs it started
        </Link>
        {' · '}
        <Link to="/runs" search={{ forkedFrom: run.runId }}>
          Its forks
        </Link>
        {' · '}
        <Link to="/runs" search={{ name: run.name }}>
          Others of {run.name}
        </Link>
      </>,
    ],
  ];
  return (
    <dl className="mb-4 flex flex-wrap gap-x-6 gap-y-1">
      {facts.map(([name, value]) => (
        <div key={name} className="flex min-w-0 gap-1.5">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
      {isFinal(run) && <Repeats id={run.runId} />}
    </dl>
  );
}

function toLink(name: string, id: string | null): [string, ReactNode][] {
  return id === null ? [] : [[name, <Link to={`/runs/${id}`}>{id.slice(0, 8)}</Link>]];
}
