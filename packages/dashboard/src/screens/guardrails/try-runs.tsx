import { useState } from 'react';
import type { OperationInput } from '@svc/runtime/client';
import { useCall, useChange } from '../../api/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Field, Input, Select } from '../../ui/field.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Panel } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { VERDICTS } from './findings.tsx';
import type { DryRun, Finding } from './findings.tsx';
import { ACTION_TONES, labelOf, SIDES } from './rule.ts';
import type { Side } from './rule.ts';
import { Refused } from '../../ui/refused.tsx';

/** Asks the rules about what is recorded; the texts stay where they are. `first`: the run that is tried at first. */
export function TryRuns({ first }: { first: string | undefined }) {
  const names = useCall('discovery.get', {});
  const test = useChange('guardrails.test', []);
  const [runId, setRunId] = useState(first ?? '');
  const [of, setOf] = useState('');
  const [side, setSide] = useState('');
  const [pages, setPages] = useState<DryRun[]>([]);
  const ask = async (cursor?: string) => {
    const [kind = '', ...name] = of.split(' ');
    const which: OperationInput<'guardrails.test'> =
      runId.trim() !== ''
        ? { runId: runId.trim() }
        : { runs: of === '' ? {} : { kind: kind as 'agent' | 'workflow', name: name.join(' ') } };
    const page = await test
      .mutateAsync({ ...which, ...(side === '' ? {} : { side: side as Side }), ...(cursor ? { cursor } : {}) })
      .catch(() => undefined);
    setPages((before) => (page ? [...(cursor ? before : []), page] : cursor ? before : []));
  };
  const next = pages.at(-1)?.nextCursor ?? undefined;
  return (
    <>
      <Panel>
        <form
          noValidate
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            void ask();
          }}
        >
          <div className="grid gap-3 sm:grid-cols-3">
            <Field label="Run" hint="Its id. Empty: the newest runs">
              {(parts) => <Input {...parts} value={runId} onChange={({ target }) => setRunId(target.value)} />}
            </Field>
            <Field label="Of">
              {(parts) => (
                <Select
                  {...parts}
                  disabled={runId.trim() !== ''}
                  options={[
                    ['', 'All agents and workflows'],
                    ...(names.data?.agents ?? []).map((name) => [`agent ${name}`, `Agent ${name}`] as const),
                    ...(names.data?.workflows ?? []).map((name) => [`workflow ${name}`, `Workflow ${name}`] as const),
                  ]}
                  value={of}
                  onChange={({ target }) => setOf(target.value)}
                />
              )}
            </Field>
            <Field label="Where">
              {(parts) => (
                <Select
                  {...parts}
                  options={[['', 'On every side'], ...SIDES]}
                  value={side}
                  onChange={({ target }) => setSide(target.value)}
                />
              )}
            </Field>
          </div>
          <Refused of={names} what="The names of agents and workflows" />
          <div>
            <Button type="submit" look="primary" busy={test.isPending}>
              Try on what is recorded
            </Button>
          </div>
        </form>
      </Panel>
      <div aria-live="polite">
        {test.error && <Failure error={test.error} />}
        {pages.length > 0 && <Found pages={pages} />}
      </div>
      <More has={next !== undefined} busy={test.isPending} onMore={() => void ask(next)} />
    </>
  );
}

// --- internal ---

type Tried = DryRun['runs'][number];
type Row = Tried['places'][number] & { run: Tried; hit: Finding; key: string };

function Found({ pages }: { pages: readonly DryRun[] }) {
  const runs = pages.flatMap((page) => page.runs);
  const judged = runs.reduce((sum, run) => sum + run.judged, 0);
  const found = runs.reduce((sum, run) => sum + run.places.length, 0);
  const count = new Set(runs.map((run) => run.runId)).size;
  const problems = runs.filter(({ problem }) => problem !== null);
  const rows = runs.flatMap((run) =>
    run.places.flatMap((place) =>
      place.hits.map((hit) => ({
        ...place,
        run,
        hit,
        key: `${run.runId} ${place.step} ${place.side} ${hit.ruleId} ${hit.action}`,
      })),
    ),
  );
  return (
    <Panel title="What the rules would have done">
      <p>
        Places judged: {judged}, of {count === 1 ? '1 run' : `${count} runs`}. Places where they find something: {found}
        .
      </p>
      {problems.map(({ runId, problem }) => (
        <p key={runId} className="mt-2 text-xs wrap-anywhere text-bad">
          {runId.slice(0, 8)}: <bdi>{problem}</bdi>
        </p>
      ))}
      {rows.length > 0 && (
        <div className="mt-3">
          <Table label="What the rules would have done" rows={rows} keyOf={({ key }) => key} columns={COLUMNS} />
        </div>
      )}
    </Panel>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Run',
    cell: ({ run: { runId, name, kind }, step }) => (
      <Link to={`/runs/${runId}`} search={step === null ? { tab: 'values' } : { span: `${runId}:${step}` }}>
        {kind} <bdi className="wrap-anywhere">{name}</bdi>
      </Link>
    ),
  },
  {
    title: 'Where',
    cell: ({ side, step, tools }) => (
      <>
        {labelOf(side)}
        <span className="block text-xs text-muted">
          {step === null ? 'at its start' : `call ${step}`}
          {tools.length > 0 && (
            <>
              , <bdi className="wrap-anywhere">{tools.join(', ')}</bdi>
            </>
          )}
        </span>
      </>
    ),
  },
  { title: 'Verdict', cell: ({ verdict }) => <Badge tone={VERDICTS[verdict][0]}>{verdict}</Badge> },
  { title: 'Rule', cell: ({ hit }) => <bdi className="wrap-anywhere">{hit.ruleName}</bdi> },
  { title: 'Does', wide: true, cell: ({ hit }) => <Badge tone={ACTION_TONES[hit.action]}>{hit.action}</Badge> },
  { title: 'Found', end: true, wide: true, cell: ({ hit }) => hit.count },
  {
    title: 'Reason',
    wide: true,
    cell: ({ hit: { reason, isApplied } }) => (
      <>
        <bdi className="wrap-anywhere">{reason ?? ''}</bdi> {!isApplied && <Badge tone="warn">not applied</Badge>}
      </>
    ),
  },
];
