import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { OperationInput } from '@svc/runtime/client';
import { useBox } from '../../app/box.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Columns } from './columns.tsx';
import { CopyRows } from './copy-rows.tsx';
import { Filters } from './filters.tsx';
import { Grid } from './grid.tsx';
import { formatTableName } from './table-name.ts';
import type { TableName } from './table-name.ts';

/** The rows of a table: in which order and which of them is in the address. */
export function TableRows({ schema, table }: TableName) {
  const [{ sort, order, filter }, change] = useSearchState();
  const { asked, ask, close } = useDialogs('columns');
  const rows = useRows({
    schema,
    table,
    limit: PAGE,
    ...(sort ? { sort } : {}),
    ...(order === 'desc' ? { order } : {}),
    ...(filter ? { filter } : {}),
  });
  const sortBy = (column: string) => {
    if (sort !== column) return change({ sort: column, order: undefined });
    if (order !== 'desc') return change({ order: 'desc' });
    return change({ sort: undefined, order: undefined });
  };
  const name = formatTableName({ schema, table });
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 flex-1 font-medium wrap-anywhere">
          <Link to="/database">Tables</Link> / <bdi>{name}</bdi>
        </h2>
        <Button onClick={() => ask('columns')}>Columns</Button>
        <Button busy={rows.isFetching && !rows.isFetchingNextPage} onClick={() => void rows.refetch()}>
          Read again
        </Button>
      </div>
      <Filters columns={rows.data?.columns ?? []} value={filter} onChange={(next) => change({ filter: next })} />
      <Answer of={rows} rows={12}>
        {({ columns, values }) => (
          <div aria-busy={rows.isPlaceholderData} className={rows.isPlaceholderData ? 'opacity-60' : ''}>
            {values.length === 0 ? (
              <Nothing isNarrow={Boolean(filter)} />
            ) : (
              <>
                <Grid
                  label={`Rows of ${name}`}
                  columns={columns}
                  rows={values}
                  sorting={{ column: sort, by: order === 'desc' ? 'desc' : 'asc', onSort: sortBy }}
                />
                <CopyRows columns={columns} rows={values} />
              </>
            )}
            <More has={rows.hasNextPage} busy={rows.isFetchingNextPage} onMore={() => void rows.fetchNextPage()} />
          </div>
        )}
      </Answer>
      {asked.columns && <Columns schema={schema} table={table} onClose={close} />}
    </>
  );
}

// --- internal ---

const PAGE = 100;

/** The pages so far as one list. */
function useRows(input: OperationInput<'database.rows'>) {
  const { client } = useBox();
  const query = useInfiniteQuery({
    queryKey: ['database.rows', input, 'list'],
    queryFn: ({ signal, pageParam }) =>
      client.call('database.rows', { ...input, ...(pageParam === undefined ? {} : { cursor: pageParam }) }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    placeholderData: (before) => before,
  });
  const pages = query.data?.pages;
  const data = useMemo(() => {
    const columns = pages?.[0]?.columns;
    return columns && { columns, values: pages.flatMap(({ rows }) => rows) };
  }, [pages]);
  return { ...query, data };
}

function Nothing({ isNarrow }: { isNarrow: boolean }) {
  if (isNarrow) return <Empty title="No row matches">Take a condition away.</Empty>;
  return (
    <Empty title="There is no row yet">
      Code of the project writes them, with <code>svc.db</code>. They are shown when the table is opened again.
    </Empty>
  );
}
