import type { OperationOutput } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Link } from '../../ui/link.tsx';
import { Time, toDuration } from '../../ui/time.tsx';
import { Value } from '../../ui/value.tsx';
import { Fault } from './fault.tsx';
import { ForkDialog } from './fork.tsx';
import { childrenOf } from './timeline.ts';
import type { Span } from './timeline.ts';

type Run = OperationOutput<'runs.get'>;

/** What one row of the timeline is: its input and output, its attempts, its tokens. */
export function Details({ run, span, spans }: { run: Run; span: Span; spans: readonly Span[] }) {
  const { runId } = run;
  if (span.kind !== 'run') return <StepDetails run={run} span={span} children={childrenOf(span, spans)} />;
  return (
    <section aria-label="Details">
      <h2 className="mb-2 font-medium wrap-anywhere">
        <bdi>{span.name}</bdi> <Status value={span.status} />
      </h2>
      <Tokens of={span} />
      {span.runId !== runId && <Link to={`/runs/${span.runId}`}>Open this run</Link>}
    </section>
  );
}

// --- internal ---

function StepDetails({ run, span, children }: { run: Run; span: Span; children: readonly Span[] }) {
  const may = useMay();
  const { asked, ask, close } = useDialogs('fork');
  const stepId = span.spanId.split(':').at(-1) ?? '';
  const step = useCall('runs.step', { id: span.runId, stepId });
  const isOwn = span.runId === run.runId;
  const mayFork = isOwn && run.kind === 'workflow' && run.sessionId === null && may('runs:retry');
  return (
    <section aria-label="Details">
      <Answer of={step} rows={8}>
        {(one) => (
          <>
            <h2 className="mb-1 font-medium wrap-anywhere">
              <bdi>{one.name}</bdi> <Status value={one.status} />
            </h2>
            <p className="mb-2 text-xs text-muted">
              {one.kind} · <code className="wrap-anywhere">{one.source}</code> · <Time at={one.startedAt} />
              {one.endedAt !== null && ` · ${toDuration(Date.parse(one.endedAt) - Date.parse(one.startedAt))}`}
            </p>
            <Tokens of={one} />
            {children.map(({ runId, name, status }) => (
              <p key={runId} className="mb-2">
                <Link to={`/runs/${runId}`}>
                  Open the run of <bdi>{name}</bdi>
                </Link>{' '}
                <Status value={status} />
              </p>
            ))}
            {mayFork && (
              <p className="mb-2">
                <Button small onClick={() => ask('fork', stepId)}>
                  Fork from here
                </Button>
              </p>
            )}
            {mayFork && asked.fork === stepId && (
              <ForkDialog
                run={run}
                from={stepId}
                onClose={close}
                {...(one.kind === 'step' ? { value: argsOf(one.input) } : {})}
              />
            )}
            {one.error && <Fault error={one.error} />}
            {one.attempts.length > 0 && <Attempts attempts={one.attempts} />}
            <Value label="Input" value={one.input} />
            {one.endedAt !== null && one.error === null && <Value label="Output" value={one.output} />}
          </>
        )}
      </Answer>
    </section>
  );
}

/** As a step is recorded: `{ args }`. */
function argsOf(input: unknown): unknown {
  return typeof input === 'object' && input !== null && 'args' in input ? input.args : undefined;
}

/** Each that failed, how long it took, and how long the call stood back before it. */
function Attempts({ attempts }: { attempts: OperationOutput<'runs.step'>['attempts'] }) {
  return (
    <section className="mb-3">
      <h3 className="mb-1 text-xs font-medium text-muted">Failed attempts</h3>
      <ol className="text-xs">
        {attempts.slice(-MOST).map(({ attempt, error, startedAt, at }, i, all) => {
          const before = all[i - 1];
          return (
            <li key={attempt} className="border-l-2 border-warn py-1 pl-2 wrap-anywhere">
              <span className="font-medium">#{attempt}</span> {new Date(at).toLocaleTimeString()}
              <span className="text-muted">
                {' '}
                ({toDuration(Date.parse(at) - Date.parse(startedAt))}
                {before && `, ${toDuration(Date.parse(startedAt) - Date.parse(before.at))} after the last`})
              </span>
              : <bdi>{error.slice(0, 500)}</bdi>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Tokens({ of }: { of: { inputTokens: number; outputTokens: number; totalTokens: number } }) {
  if (of.totalTokens === 0) return null;
  return (
    <p className="mb-2 text-xs tabular-nums">
      {of.totalTokens.toLocaleString('en')} tokens: {of.inputTokens.toLocaleString('en')} in,{' '}
      {of.outputTokens.toLocaleString('en')} out
    </p>
  );
}

const MOST = 50;
