import { useState } from 'react';
import { useCall } from '../../api/queries.ts';
import { Answer } from '../../ui/answer.tsx';
import { toCount } from '../../ui/count.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { toMonthName, toSpan } from './month.ts';
import type { Month } from './month.ts';

/** What the runs of each workflow have used: a sum of the runs that are still kept. */
export function ByWorkflow({ month }: { month: Month }) {
  const names = useCall('discovery.get', {});
  const [shown, setShown] = useState(AT_ONCE);
  const columns: readonly Column<string>[] = [
    {
      title: 'Workflow',
      cell: (name) => (
        <Link to={`/workflows/${encodeURIComponent(name)}`}>
          <bdi>{name}</bdi>
        </Link>
      ),
    },
    { title: 'Runs', end: true, wide: true, cell: (name) => <Sum name={name} month={month} of="runs" /> },
    { title: 'Tokens in', end: true, wide: true, cell: (name) => <Sum name={name} month={month} of="inputTokens" /> },
    { title: 'Tokens out', end: true, wide: true, cell: (name) => <Sum name={name} month={month} of="outputTokens" /> },
    { title: 'Tokens', end: true, cell: (name) => <Sum name={name} month={month} of="totalTokens" /> },
  ];
  return (
    <Answer of={names}>
      {({ workflows }) =>
        workflows.length === 0 ? (
          <Empty title="There is no workflow">
            <code>svc add workflow</code> makes one.
          </Empty>
        ) : (
          <>
            <Table
              label={`Used by workflows in ${toMonthName(month)}`}
              columns={columns}
              rows={workflows.slice(0, shown)}
              keyOf={(name) => name}
            />
            <More has={shown < workflows.length} busy={false} onMore={() => setShown(shown + AT_ONCE)} />
            <p className="mt-2 text-muted">
              Of calls of models in the steps of the runs that were created then and are still kept. What an agent that
              a workflow asks has used is counted <Link to="/usage">by agent</Link>, and so is its cost.
            </p>
          </>
        )
      }
    </Answer>
  );
}

// --- internal ---

/** Each asks the box for a sum. */
const AT_ONCE = 25;

interface SumProps {
  name: string;
  month: Month;
  of: 'runs' | 'inputTokens' | 'outputTokens' | 'totalTokens';
}

function Sum({ name, month, of }: SumProps) {
  const stats = useCall('runs.stats', { name, kind: 'workflow', bucket: 'day', ...toSpan(month) });
  if (stats.error) return <span className="text-bad">not answered</span>;
  if (!stats.data) return <span className="text-muted">…</span>;
  return toCount(stats.data.items.reduce((sum, item) => sum + item[of], 0));
}
