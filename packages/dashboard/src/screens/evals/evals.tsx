import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Time } from '../../ui/time.tsx';
import { EvalRuns } from './eval-runs.tsx';
import { toScore, Verdict } from './verdict.tsx';

type Suite = OperationOutput<'evals.suites.list'>['items'][number];

/** The suites with what came of them last, and all runs. */
export default function Evals() {
  const [{ tab = 'suites' }, change] = useSearchState();
  return (
    <Page title="Evals">
      <Tabs
        label="Evals"
        value={tab}
        onChange={(next) => change({ tab: next === 'suites' ? undefined : next }, 'push')}
        tabs={[
          { id: 'suites', title: 'Suites', content: () => <Suites /> },
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
          them. Make both with <code>POST /api/evals/cases</code> and <code>POST /api/evals/suites</code>, or a case of
          a run that went well: <code>svc pull run &lt;id&gt; --promote eval</code>
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
