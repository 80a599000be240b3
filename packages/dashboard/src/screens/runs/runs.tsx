import { useMemo } from 'react';
import type { OperationInput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import type { Search } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Page } from '../../ui/page.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { TimeField } from '../../ui/time-field.tsx';
import { AllRuns } from './all.tsx';
import { Chips } from './chips.tsx';
import { ChooseColumns, useColumns } from './choose-columns.tsx';
import type { Run } from './columns.tsx';
import { Found } from './found.tsx';
import { RunRows } from './rows.tsx';
import { SPANS, toSpan } from './span.ts';

export default function Runs() {
  const [search, setSearch] = useSearchState();
  // The beginning of a span of time stays what it was: another one would be another list.
  const filter = useMemo(() => toFilter(search), [search]);
  const { names, columns, choose } = useColumns(search.cols, (cols) => setSearch({ cols }));
  const { has } = search;
  // The box refuses to do something to every run there is.
  const isFiltered = Object.keys(filter).length > 0;
  const isNarrow = Object.keys(NOTHING).some((name) => search[name]);
  return (
    <Page
      wide
      title="Runs"
      actions={
        <>
          {isNarrow && <Button onClick={() => setSearch(NOTHING)}>Clear the filters</Button>}
          {isFiltered && !has && <AllRuns filter={filter} />}
          <ChooseColumns names={names} onChange={choose} />
        </>
      }
    >
      <Filters search={search} onChange={setSearch} />
      <Chips search={search} onChange={setSearch} />
      {has ? (
        <Found filter={{ ...filter, has }} columns={columns} />
      ) : (
        <Listed filter={filter} columns={columns} isNarrow={isNarrow} />
      )}
    </Page>
  );
}

// --- internal ---

function Listed({
  filter,
  columns,
  isNarrow,
}: {
  filter: OperationInput<'runs.list'>;
  columns: readonly Column<Run>[];
  isNarrow: boolean;
}) {
  const runs = useList('runs.list', filter, { keep: true });
  return (
    <Answer of={{ ...runs, data: runs.items }} rows={12}>
      {(items) =>
        items.length === 0 && !runs.hasNextPage ? (
          <Nothing isNarrow={isNarrow} />
        ) : (
          <RunRows>
            <Table label="Runs" columns={columns} rows={items} keyOf={({ runId }) => runId} />
            <More has={runs.hasNextPage} busy={runs.isFetchingNextPage} onMore={() => void runs.fetchNextPage()} />
          </RunRows>
        )
      }
    </Answer>
  );
}

const STATUSES = ['queued', 'running', 'waiting', 'blocked', 'completed', 'failed', 'cancelled'];
const TRIGGERS = ['api', 'chat', 'schedule', 'trigger', 'workflow', 'retry', 'fork', 'rewind', 'eval', 'copilot'];
/** What the box is asked for, as the address has it. */
const NAMED = [
  'name',
  'status',
  'kind',
  'trigger',
  'parent',
  'retryOf',
  'forkedFrom',
  'session',
  'attribute',
  'user',
] as const;
const NOTHING: Search = Object.fromEntries([...NAMED, 'since', 'from', 'to', 'has'].map((key) => [key, undefined]));

function Filters({ search, onChange }: { search: Search; onChange(change: Search): void }) {
  const select = (name: string, label: string, first: string, values: readonly (readonly [string, string])[]) => (
    <Field label={label} quiet>
      {(parts) => (
        <Select
          {...parts}
          value={search[name] ?? ''}
          options={[['', first], ...values]}
          onChange={({ target }) => onChange({ [name]: target.value })}
        />
      )}
    </Field>
  );
  const same = (values: string[]) => values.map((value) => [value, value] as const);
  return (
    <div className="mb-3 grid grid-cols-2 gap-2 md:grid-cols-3 xl:grid-cols-6">
      <SearchField label="Agent or workflow" value={search.name} onChange={(name) => onChange({ name })} />
      {select('status', 'Status', 'Any status', same(STATUSES))}
      {select('kind', 'Kind', 'Agents and workflows', [
        ['workflow', 'Workflows'],
        ['agent', 'Agents'],
      ])}
      {select('trigger', 'Trigger', 'Any trigger', same(TRIGGERS))}
      {select('since', 'Created', 'At any time', SPANS)}
      <SearchField label="Input or output holds" value={search.has} onChange={(has) => onChange({ has })} />
      {search.since === 'between' && (
        <>
          <TimeField label="From" value={search.from} onChange={(from) => onChange({ from })} />
          <TimeField label="Before" value={search.to} onChange={(to) => onChange({ to })} />
        </>
      )}
    </div>
  );
}

function Nothing({ isNarrow }: { isNarrow: boolean }) {
  if (isNarrow) return <Empty title="No run matches">Change or clear the filters.</Empty>;
  return (
    <Empty title="Nothing has run yet">
      Start a workflow under <Link to="/workflows">Workflows</Link>, or from a terminal:{' '}
      <code>svc workflows start &lt;name&gt;</code>
    </Empty>
  );
}

function toFilter(search: Search): OperationInput<'runs.list'> {
  return {
    ...Object.fromEntries(NAMED.flatMap((key) => (search[key] ? [[key, search[key]]] : []))),
    ...toSpan(search),
  };
}
