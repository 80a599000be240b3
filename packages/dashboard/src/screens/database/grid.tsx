import { memo, useMemo } from 'react';
import { useDialogs } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Json } from '../../ui/json/json.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { toNames, toObject } from './export.ts';

export interface GridProps {
  label: string;
  columns: readonly { name: string; type: string }[];
  rows: readonly (readonly unknown[])[];
  /** Headings sort. */
  sorting?: { column: string | undefined; by: 'asc' | 'desc'; onSort(column: string): void };
}

/** Rows of values, each the beginning of it; a row is opened to see all. */
export const Grid = memo(function Grid({ label, columns, rows, sorting }: GridProps) {
  const { asked, ask, close } = useDialogs('row');
  const numbered = useMemo(() => rows.map((values, at) => ({ at, values })), [rows]);
  const open = rows[Number(asked.row) - 1];
  const shown = columns.slice(0, MOST_COLUMNS);
  return (
    <>
      <Table
        label={label}
        keyOf={({ at }) => String(at)}
        rows={numbered}
        columns={[
          {
            title: '#',
            narrow: true,
            cell: ({ at }: Row) => (
              <Button small aria-label={`Show row ${at + 1}`} onClick={() => ask('row', String(at + 1))}>
                {at + 1}
              </Button>
            ),
          },
          ...shown.map((column, at) => toColumn(column, at, sorting)),
        ]}
      />
      {columns.length > shown.length && (
        <p className="mt-2 text-xs text-muted">
          The first {shown.length} of {columns.length.toLocaleString('en')} columns. A row that is shown has all of
          them.
        </p>
      )}
      {open && (
        <Dialog title={`Row ${asked.row}`} wide onClose={close} actions={<Button onClick={close}>Close</Button>}>
          <WholeRow names={toNames(columns)} values={open} label={`Row ${asked.row}`} />
        </Dialog>
      )}
    </>
  );
});

// --- internal ---

interface Row {
  at: number;
  values: readonly unknown[];
}

/** A page has to hold them all, a hundred times. */
const MOST_COLUMNS = 60;
const NUMBERS = new Set(['smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision']);

function toColumn(column: { name: string; type: string }, at: number, sorting: GridProps['sorting']): Column<Row> {
  const { name, type } = column;
  return {
    title: name,
    end: NUMBERS.has(type),
    note: type,
    ...(sorting
      ? {
          sorting: {
            by: sorting.column === name ? sorting.by : undefined,
            onSort: () => sorting.onSort(name),
          },
        }
      : {}),
    cell: ({ values }) => <Cell value={values[at]} />,
  };
}

function Cell({ value }: { value: unknown }) {
  if (value === null) return <span className="text-xs text-muted">null</span>;
  if (value === '') return <span className="text-xs text-muted">empty</span>;
  return (
    <code className="inline-block max-w-72 truncate align-top text-xs">
      <bdi>{toLine(value)}</bdi>
    </code>
  );
}

const BRIEF = 200;

function toLine(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > BRIEF ? `${text.slice(0, BRIEF)}…` : text;
}

/** The same object for the same row, so that what is opened in it stays open. */
function WholeRow({ names, values, label }: { names: readonly string[]; values: readonly unknown[]; label: string }) {
  const value = useMemo(() => toObject(names, values), [values]);
  return <Json value={value} label={label} />;
}
