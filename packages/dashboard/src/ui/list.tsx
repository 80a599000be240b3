import type { ReactNode } from 'react';
import { Answer } from './answer.tsx';
import { More } from './more.tsx';
import { Table } from './table.tsx';
import type { TableProps } from './table.tsx';

export interface Listed<Row> {
  items: Row[] | undefined;
  error: unknown;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  refetch(): unknown;
  fetchNextPage(): unknown;
}

export interface ListProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  /** As `useList` answers it. */
  of: Listed<Row>;
  /** What is there when there is nothing. */
  empty: ReactNode;
}

/** A list of the box as a table: while it loads, when it is refused, when it is empty, and with more of it when asked. */
export function List<Row>({ of, empty, ...table }: ListProps<Row>) {
  const { items, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = of;
  return (
    <Answer of={{ data: items, error, refetch }}>
      {(rows) =>
        rows.length === 0 ? (
          empty
        ) : (
          <>
            <Table {...table} rows={rows} />
            <More has={hasNextPage} busy={isFetchingNextPage} onMore={() => void fetchNextPage()} />
          </>
        )
      }
    </Answer>
  );
}
