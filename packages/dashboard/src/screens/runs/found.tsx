import { useInfiniteQuery } from '@tanstack/react-query';
import type { OperationInput } from '@svc/runtime/client';
import { useBox } from '../../app/box.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { toCount } from '../../ui/count.ts';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { toWhole } from '../../ui/time.tsx';
import { RunRows } from './rows.tsx';
import type { Run } from './columns.tsx';

export interface FoundProps {
  filter: OperationInput<'runs.list'> & { has: string };
  columns: readonly Column<Run>[];
}

/** The runs whose values hold a text. The box looks through so many at a time, and says how far it has come. */
export function Found({ filter, columns }: FoundProps) {
  const found = useFound(filter);
  const pages = found.data?.pages;
  return (
    <Answer of={{ ...found, data: pages }} rows={12}>
      {(all) => {
        const items = all.flatMap((page) => page.items);
        return (
          <>
            {items.length > 0 && (
              <RunRows>
                <Table label="Runs" columns={columns} rows={items} keyOf={({ runId }) => runId} />
              </RunRows>
            )}
            <div className="mt-3 flex flex-wrap items-center gap-3">
              <p role="status" className="min-w-0 text-muted">
                <HowFar pages={all} count={items.length} has={filter.has} isAll={!found.hasNextPage} />
              </p>
              {found.hasNextPage && (
                <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                  Look further
                </Button>
              )}
              <Button look="quiet" busy={found.isRefetching} onClick={() => void found.refetch()}>
                Look again
              </Button>
            </div>
          </>
        );
      }}
    </Answer>
  );
}

// --- internal ---

/** Not under the id of its operation: events of the box do not have everything looked through again. */
function useFound(filter: FoundProps['filter']) {
  const { client } = useBox();
  return useInfiniteQuery({
    queryKey: ['found runs', filter],
    queryFn: ({ signal, pageParam }) =>
      client.call('runs.list', pageParam === undefined ? filter : { ...filter, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    staleTime: 60_000,
  });
}

type FoundPage = NonNullable<ReturnType<typeof useFound>['data']>['pages'][number];

function HowFar({
  pages,
  count,
  has,
  isAll,
}: {
  pages: readonly FoundPage[];
  count: number;
  has: string;
  isAll: boolean;
}) {
  const runs = pages.reduce((sum, { looked }) => sum + (looked?.runs ?? 0), 0);
  const stored = pages.reduce((sum, { looked }) => sum + (looked?.stored ?? 0), 0);
  const to = pages.flatMap(({ looked }) => looked?.to ?? []).at(-1);
  return (
    <>
      {toCount(count)} of {isAll ? 'all' : 'the newest'} {toCount(runs)} runs
      {to !== undefined && !isAll && `, back to ${toWhole(to)},`} {count === 1 ? 'holds' : 'hold'} “<bdi>{has}</bdi>”.
      {stored > 0 && ` ${toCount(stored)} of their values were too large to be looked through.`}
    </>
  );
}
