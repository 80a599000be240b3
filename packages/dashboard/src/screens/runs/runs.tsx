import { useMemo } from 'react';
import type { KeyboardEvent } from 'react';
import type { OperationInput, OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import type { Search } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
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
import { Time, toDuration } from '../../ui/time.tsx';
import { Chips } from './chips.tsx';
import { SPANS, toSpan } from './span.ts';

type Run = OperationOutput<'runs.list'>['items'][number];

export default function Runs() {
  const [search, setSearch] = useSearchState();
  // The beginning of a span of time stays what it was: another one would be another list.
  const filter = useMemo(() => toFilter(search), [search]);
  const runs = useList('runs.list', filter, { keep: true });
  const { has } = search;
  const isNarrow = Object.values(search).some(Boolean);
  return (
    <Page wide title="Runs" actions={isNarrow && <Button onClick={() => setSearch(NOTHING)}>Clear the filters</Button>}>
      <Filters search={search} onChange={setSearch} />
      <Chips search={search} onChange={setSearch} />
      <Answer of={{ ...runs, data: runs.items }} rows={12}>
        {(items) => {
          const shown = has ? items.filter((run) => holds(run, has)) : items;
          if (shown.length === 0 && !runs.hasNextPage) return <Nothing isNarrow={isNarrow} />;
          return (
            <div onKeyDown={moveBetweenRows}>
              <Table label="Runs" columns={COLUMNS} rows={shown} keyOf={({ runId }) => runId} />
              {has && (
                <p className="mt-2 text-xs text-muted">
                  {shown.length} of the {items.length} runs that were read hold “<bdi>{has}</bdi>”.
                </p>
              )}
              <More has={runs.hasNextPage} busy={runs.isFetchingNextPage} onMore={() => void runs.fetchNextPage()} />
            </div>
          );
        }}
      </Answer>
    </Page>
  );
}

// --- internal ---

const STATUSES = ['queued', 'running', 'waiting', 'blocked', 'completed', 'failed', 'cancelled'];
const TRIGGERS = ['api', 'chat', 'schedule', 'trigger', 'workflow', 'retry', 'fork', 'rewind', 'eval', 'copilot'];
const NOTHING: Search = Object.fromEntries(
  [
    'name',
    'status',
    'kind',
    'trigger',
    'since',
    'from',
    'to',
    'has',
    'parent',
    'forkedFrom',
    'session',
    'attribute',
    'user',
  ].map((key) => [key, undefined]),
);

const COLUMNS: readonly Column<Run>[] = [
  {
    title: 'Run',
    cell: (run) => (
      <>
        <Link to={`/runs/${run.runId}`} className="font-medium text-accent">
          <bdi>{run.name}</bdi>
        </Link>
        <div className="text-xs text-muted">{run.runId.slice(0, 8)}</div>
      </>
    ),
  },
  {
    title: 'Status',
    cell: (run) => (
      <>
        <Status value={run.status} />
        {run.error && (
          <div className="max-w-72 truncate text-xs text-bad">
            <bdi>{run.error.message.slice(0, 200)}</bdi>
          </div>
        )}
      </>
    ),
  },
  {
    title: 'Input',
    wide: true,
    cell: (run) => (
      <code className="block max-w-80 truncate text-xs">
        <bdi>{toLine(run.input)}</bdi>
      </code>
    ),
  },
  { title: 'Trigger', wide: true, cell: (run) => run.trigger },
  { title: 'Created', cell: (run) => <Time at={run.createdAt} /> },
  {
    title: 'Took',
    end: true,
    wide: true,
    cell: ({ startedAt, endedAt }) =>
      startedAt === null || endedAt === null ? '' : toDuration(Date.parse(endedAt) - Date.parse(startedAt)),
  },
  {
    title: 'Tokens',
    end: true,
    wide: true,
    cell: ({ totalTokens }) => (totalTokens === 0 ? '' : totalTokens.toLocaleString('en')),
  },
];

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
  if (isNarrow) return <Empty title="No run is like that">Change or clear the filters.</Empty>;
  return (
    <Empty title="Nothing has run yet">
      Start a workflow under <Link to="/workflows">Workflows</Link>, or from a terminal:{' '}
      <code>svc workflows start &lt;name&gt;</code>
    </Empty>
  );
}

function toFilter(search: Search): OperationInput<'runs.list'> {
  const named = ['name', 'status', 'kind', 'trigger', 'parent', 'forkedFrom', 'session', 'attribute', 'user'] as const;
  return {
    ...Object.fromEntries(named.flatMap((key) => (search[key] ? [[key, search[key]]] : []))),
    ...toSpan(search),
  };
}

function holds(run: Run, text: string): boolean {
  const wanted = text.toLowerCase();
  return [run.input, run.output, run.attributes].some((value) => toLine(value, MOST).toLowerCase().includes(wanted));
}

const MOST = 20_000;

function toLine(value: unknown, most = 200): string {
  if (value === null || value === undefined) return '';
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, most);
}

/** Arrows go from row to row. */
function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('tbody a')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  event.preventDefault();
  links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}
