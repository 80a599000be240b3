import { useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Panel } from '../../ui/page.tsx';
import { Value } from '../../ui/value.tsx';

type Case = OperationOutput<'evals.cases.get'>;

/** Those that it names, and those with one of its tags. */
export function SuiteCases({ suite: { cases, tags } }: { suite: OperationOutput<'evals.suites.get'> }) {
  const [most, setMost] = useState(PAGE);
  if (cases.length === 0 && tags.length === 0)
    return <Empty title="It has no cases">Change it: choose some, or give it a tag that cases have.</Empty>;
  return (
    <>
      {cases.length > 0 && (
        <Panel title="Named">
          <ul>
            {cases.slice(0, most).map((id) => (
              <NamedCase key={id} id={id} />
            ))}
          </ul>
          <More has={cases.length > most} busy={false} onMore={() => setMost(most + PAGE)} />
        </Panel>
      )}
      {tags.map((tag) => (
        <TaggedCases key={tag} tag={tag} />
      ))}
    </>
  );
}

// --- internal ---

/** Of the named ones, each of which is asked for. */
const PAGE = 20;

function NamedCase({ id }: { id: string }) {
  const found = useCall('evals.cases.get', { id });
  return (
    <li className="border-b border-line last:border-0">
      <Answer of={found} rows={1}>
        {(one) => <Line of={one} />}
      </Answer>
    </li>
  );
}

function TaggedCases({ tag }: { tag: string }) {
  const cases = useList('evals.cases.list', { tag });
  return (
    <Panel title={`Tagged ${tag}`}>
      <Answer of={{ ...cases, data: cases.items }}>
        {(items) =>
          items.length === 0 ? (
            <p className="text-muted">
              No case has this tag. Give it to some under <i>Cases</i> of Evals.
            </p>
          ) : (
            <ul>
              {items.map((one) => (
                <li key={one.id} className="border-b border-line last:border-0">
                  <Line of={one} />
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <More has={cases.hasNextPage} busy={cases.isFetchingNextPage} onMore={() => void cases.fetchNextPage()} />
    </Panel>
  );
}

/** One case; what it asks and expects is behind it. */
function Line({ of }: { of: Case }) {
  const mayWrite = useMay()('evals:write');
  return (
    <details className="py-2">
      <summary className="cursor-pointer wrap-anywhere">
        <bdi className="font-medium">{of.name}</bdi>{' '}
        <span className="text-xs text-muted">
          {of.target.kind} <bdi>{of.target.name}</bdi>
        </span>
      </summary>
      <div className="pt-2">
        <Value label="Input" value={of.input} />
        {of.expected !== undefined && <Value label="Expected" value={of.expected} />}
        {of.scorers.length > 0 && <Value label="Scorers" value={of.scorers} />}
        <p className="flex flex-wrap gap-x-4">
          {mayWrite && (
            <Link to="/evals" search={{ tab: 'cases', case: of.id }}>
              Change it
            </Link>
          )}
          {of.fromRunId !== null && <Link to={`/runs/${of.fromRunId}`}>The run it was made of</Link>}
        </p>
      </div>
    </details>
  );
}
