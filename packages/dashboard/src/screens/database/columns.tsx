import { useList } from '../../api/queries.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { More } from '../../ui/more.tsx';
import { Table } from '../../ui/table.tsx';
import { formatTableName } from './table-name.ts';
import type { TableName } from './table-name.ts';

/** What a table is made of. */
export function Columns({ schema, table, onClose }: TableName & { onClose(): void }) {
  const tables = useList('database.tables', {});
  const name = formatTableName({ schema, table });
  return (
    <Dialog title={`Columns of ${name}`} wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Answer of={{ ...tables, data: tables.items }}>
        {(items) => {
          const found = items.find((each) => each.schema === schema && each.name === table);
          if (found) return <Table label={`Columns of ${name}`} columns={COLUMNS} rows={found.columns} keyOf={keyOf} />;
          return (
            <>
              <p>It is not among the {items.length.toLocaleString('en')} tables that were read.</p>
              <More
                has={tables.hasNextPage}
                busy={tables.isFetchingNextPage}
                onMore={() => void tables.fetchNextPage()}
              />
            </>
          );
        }}
      </Answer>
    </Dialog>
  );
}

// --- internal ---

interface ColumnOf {
  name: string;
  type: string;
  isNullable: boolean;
  isKey: boolean;
}

const keyOf = ({ name }: ColumnOf): string => name;

const COLUMNS = [
  { title: 'Name', cell: ({ name }: ColumnOf) => <code className="wrap-anywhere">{name}</code> },
  { title: 'Type', cell: ({ type }: ColumnOf) => <code className="text-xs wrap-anywhere">{type}</code> },
  {
    title: 'Is',
    cell: ({ isKey, isNullable }: ColumnOf) => (
      <span className="flex flex-wrap gap-1">
        {isKey && <Badge tone="accent">key</Badge>}
        {isNullable && <Badge>may be null</Badge>}
      </span>
    ),
  },
];
