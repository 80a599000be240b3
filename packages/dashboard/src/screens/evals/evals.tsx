import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useSearchState } from '../../app/search.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Time } from '../../ui/time.tsx';
import { CaseForm } from './case-form.tsx';
import { CaseList } from './case-list.tsx';
import { EvalRuns } from './eval-runs.tsx';
import { SuiteForm } from './suite-form.tsx';
import { toScore, Verdict } from './verdict.tsx';

type Suite = OperationOutput<'evals.suites.list'>['items'][number];

/** The suites with the outcome of their last run, all cases, and all runs. */
export default function Evals() {
  const mayWrite = useMay()('evals:write');
  const [{ tab = 'suites' }, change] = useSearchState();
  return (
    <Page
      title="Evals"
      actions={
        mayWrite && (
          <>
            <New label="New case" about="case" plain>
              {(close) => <CaseForm onClose={close} />}
            </New>
            <New label="New suite" about="suite">
              {(close) => <SuiteForm onClose={close} />}
            </New>
          </>
        )
      }
    >
      <Tabs
        label="Evals"
        value={tab}
        onChange={(next) => change({ tab: next === 'suites' ? undefined : next, tag: undefined }, 'push')}
        tabs={[
          { id: 'suites', title: 'Suites', content: () => <Suites /> },
          { id: 'cases', title: 'Cases', content: () => <CaseList /> },
          { id: 'runs', title: 'Runs', content: () => <EvalRuns /> },
        ]}
      />
    </Page>
  );
}

// --- internal ---

function Suites() {
  const suites = useList('evals.suites.list', {});
  return (
    <List
      of={suites}
      label="Suites"
      keyOf={({ id }) => id}
      columns={COLUMNS}
      empty={
        <Empty title="There is no suite yet">
          A case is something an agent or a workflow is asked, with what is expected; a suite runs and scores a set of
          them. A run that went well becomes a case on its page, or from a terminal:{' '}
          <code>svc pull run &lt;id&gt; --promote eval</code>
        </Empty>
      }
    />
  );
}

const COLUMNS: readonly Column<Suite>[] = [
  {
    title: 'Suite',
    cell: ({ name, note }) => (
      <>
        <Link to={`/evals/suites/${name}`}>{name}</Link>
        {note && (
          <div className="max-w-80 truncate text-xs text-muted">
            <bdi>{note}</bdi>
          </div>
        )}
      </>
    ),
  },
  {
    title: 'Last run',
    cell: ({ lastRun }) =>
      lastRun ? (
        <Link to={`/evals/runs/${lastRun.id}`} className="no-underline">
          <Verdict run={lastRun} />
        </Link>
      ) : (
        <span className="text-muted">not launched</span>
      ),
  },
  { title: 'Score', end: true, cell: ({ lastRun }) => toScore(lastRun?.score ?? null) },
  {
    title: 'Passed',
    end: true,
    wide: true,
    cell: ({ lastRun }) => (lastRun ? `${lastRun.summary.passed} of ${lastRun.planned}` : ''),
  },
  { title: 'Launched', wide: true, cell: ({ lastRun }) => <Time at={lastRun?.createdAt} /> },
];
