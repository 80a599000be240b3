import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import type { Column } from '../../ui/table.tsx';
import { formatTableName } from './table-name.ts';

type Table = OperationOutput<'database.tables'>['items'][number];

/** The tables and views of the project, with what each is made of. */
export function TableList() {
  const tables = useList('database.tables', {});
  return (
    <List
      of={tables}
      label="Tables"
      keyOf={({ schema, name }) => JSON.stringify([schema, name])}
      columns={COLUMNS}
      empty={
        <Empty title="The project has no table yet">
          Export one from <code>src/schema.ts</code>: <code>svc dev</code> makes it as soon as the file is saved.
        </Empty>
      }
    />
  );
}

// --- internal ---

const KINDS: Record<Table['kind'], string> = {
  table: 'table',
  view: 'view',
  'materialized-view': 'materialized view',
};

const COLUMNS: readonly Column<Table>[] = [
  {
    title: 'Name',
    cell: ({ schema, name }) => (
      <Link to="/database" search={{ table: formatTableName({ schema, table: name }) }}>
        <bdi className="wrap-anywhere">{formatTableName({ schema, table: name })}</bdi>
      </Link>
    ),
  },
  { title: 'Kind', cell: ({ kind }) => <Badge>{KINDS[kind]}</Badge> },
  {
    title: 'Rows, about',
    end: true,
    cell: ({ rows }) => (rows === null ? <span className="text-muted">not counted</span> : rows.toLocaleString('en')),
  },
  {
    title: 'Columns',
    wide: true,
    cell: ({ columns }) => (
      <>
        {columns.length}
        <bdi className="block max-w-120 truncate text-xs text-muted">{columns.map(({ name }) => name).join(', ')}</bdi>
      </>
    ),
  },
];
