import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import type { Tone } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { toScore } from '../evals/verdict.tsx';
import type { EvalRun } from '../evals/verdict.tsx';

type Row = OperationOutput<'evals.runs.compare'>['items'][number];

/** What got better and worse since another run of the suite; at first, the completed one before. */
export function Compare({ run: { id, suiteId, createdAt } }: { run: EvalRun }) {
  const [search, change] = useSearchState();
  const runs = useList('evals.runs.list', suiteId === null ? {} : { suite: suiteId }, { enabled: suiteId !== null });
  if (suiteId === null)
    return (
      <Empty title="The suite was deleted">
        Its runs are no longer known as its own: launch another suite, and compare the runs of that.
      </Empty>
    );
  return (
    <Answer of={{ ...runs, data: runs.items }}>
      {(items) => {
        const others = items.filter((one) => one.id !== id && one.status === 'completed');
        const other =
          others.find((one) => one.id === search['with']) ?? others.find((one) => one.createdAt < createdAt);
        if (others.length === 0)
          return <Empty title="There is nothing to compare it with">Launch the suite again.</Empty>;
        return (
          <>
            <div className="mb-3 max-w-96">
              <Field label="With">
                {(parts) => (
                  <Select
                    {...parts}
                    value={other?.id ?? ''}
                    options={[
                      ...(other ? [] : [['', 'Choose …'] as const]),
                      ...others.map((one) => [one.id, toName(one)] as const),
                    ]}
                    onChange={({ target }) => change({ with: target.value })}
                  />
                )}
              </Field>
            </div>
            {other && <Changes id={id} other={other.id} />}
          </>
        );
      }}
    </Answer>
  );
}

// --- internal ---

function Changes({ id, other }: { id: string; other: string }) {
  const found = useList('evals.runs.compare', { id, with: other });
  const { data, items, error, refetch } = found;
  return (
    <Answer of={{ data: data?.pages[0], error, refetch }}>
      {({ counts }) => (
        <>
          <p className="mb-2 flex flex-wrap gap-2">
            {ORDER.filter((change) => counts[change] > 0).map((change) => (
              <Badge key={change} tone={TONES[change]}>
                {counts[change]} {change}
              </Badge>
            ))}
          </p>
          <Table label="What has changed" keyOf={({ caseId }) => caseId} columns={COLUMNS} rows={items ?? []} />
          <More has={found.hasNextPage} busy={found.isFetchingNextPage} onMore={() => void found.fetchNextPage()} />
        </>
      )}
    </Answer>
  );
}

const ORDER = ['worse', 'better', 'new', 'gone', 'same'] as const;
const TONES: Record<Row['change'], Tone> = {
  worse: 'bad',
  better: 'good',
  new: 'accent',
  gone: 'warn',
  same: 'neutral',
};

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Case', cell: ({ name }) => <bdi className="wrap-anywhere">{name}</bdi> },
  { title: 'Is', cell: ({ change }) => <Badge tone={TONES[change]}>{change}</Badge> },
  { title: 'Score', cell: ({ before, after }) => `${toScore(before)} → ${toScore(after)}` },
  {
    title: 'Passes',
    wide: true,
    cell: ({ passRateBefore, passRateAfter }) => `${toScore(passRateBefore)} → ${toScore(passRateAfter)}`,
  },
  {
    title: 'By scorer',
    wide: true,
    cell: ({ scorers }) => (
      <ul className="text-xs">
        {scorers.map(({ scorer, before, after }) => (
          <li key={scorer}>
            {scorer} {toScore(before)} → {toScore(after)}
          </li>
        ))}
      </ul>
    ),
  },
  { title: 'Runs', cell: ({ runIdsBefore, runIdsAfter }) => <Ids before={runIdsBefore[0]} after={runIdsAfter[0]} /> },
];

/** The first run of each. */
function Ids({ before, after }: { before: string | undefined; after: string | undefined }) {
  return (
    <span className="flex flex-wrap gap-x-2 text-xs">
      {before !== undefined && <Link to={`/runs/${before}`}>before {before.slice(0, 8)}</Link>}
      {after !== undefined && <Link to={`/runs/${after}`}>after {after.slice(0, 8)}</Link>}
    </span>
  );
}

function toName({ id, createdAt, note, passed }: EvalRun): string {
  const at = createdAt.slice(0, 16).replace('T', ' ');
  return [`${at} UTC`, passed ? 'passed' : 'below its gates', ...(note ? [note.slice(0, 60)] : [id.slice(0, 8)])].join(
    ' · ',
  );
}
