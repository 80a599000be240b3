import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { ACTION_TONES, labelOf } from './rule.ts';
import { Refused } from '../../ui/refused.tsx';

type Hit = OperationOutput<'guardrails.hits'>['items'][number];

/** What the rules have found, newest first, without the texts it was found in. */
export function Hits() {
  const [{ rule }, change] = useSearchState();
  const rules = useList('guardrails.list', {});
  const hits = useList('guardrails.hits', rule === undefined ? {} : { ruleId: rule });
  const known = (rules.items ?? []).map(({ id, name }) => [id, name] as const);
  // The hits of a rule that was deleted stay.
  const isKnown = rule === undefined || known.some(([id]) => id === rule);
  return (
    <>
      <div className="mb-3 max-w-80">
        <Field label="Rule">
          {(parts) => (
            <Select
              {...parts}
              options={[['', 'All rules'], ...known, ...(isKnown ? [] : [[rule, 'A rule that is gone'] as const])]}
              value={rule ?? ''}
              onChange={({ target }) =>
                change({ tab: 'hits', rule: target.value === '' ? undefined : target.value }, 'push')
              }
            />
          )}
        </Field>
      </div>
      <Refused of={rules} what="The rules" />
      <List
        of={hits}
        label="Hits"
        keyOf={({ id }) => id}
        columns={COLUMNS}
        empty={
          <Empty title={rule === undefined ? 'No rule has found anything' : 'This rule has found nothing'}>
            What rules find is listed here: where, how often, and what was done about it. Try them on a text to see what
            they would say.
          </Empty>
        }
      />
    </>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Hit>[] = [
  { title: 'When', cell: ({ at }) => <Time at={at} /> },
  { title: 'Rule', cell: ({ ruleName }) => <bdi className="wrap-anywhere">{ruleName}</bdi> },
  {
    title: 'Did',
    cell: ({ action, isApplied }) => (
      <span className="flex flex-wrap gap-1">
        <Badge tone={ACTION_TONES[action]}>{action}</Badge>
        {!isApplied && <Badge tone="warn">not applied</Badge>}
      </span>
    ),
  },
  {
    title: 'In',
    cell: ({ place, runId }) =>
      runId === null ? (
        <bdi className="wrap-anywhere">{place}</bdi>
      ) : (
        <Link to={`/runs/${runId}`}>
          <bdi className="wrap-anywhere">{place}</bdi>
        </Link>
      ),
  },
  { title: 'Where', wide: true, cell: ({ side }) => labelOf(side) },
  { title: 'Found', end: true, wide: true, cell: ({ count }) => count },
  { title: 'Reason', wide: true, cell: ({ reason }) => <bdi className="wrap-anywhere">{reason ?? ''}</bdi> },
];
