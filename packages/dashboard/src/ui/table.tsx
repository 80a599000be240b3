import type { ReactNode } from 'react';

export interface Column<Row> {
  /** Two may have the same. */
  title: string;
  /** Of numbers: on the right. */
  end?: boolean;
  /** Left out where there is little room. */
  wide?: boolean;
  /** As wide as what is in it. */
  narrow?: boolean;
  /** Below the title. */
  note?: string;
  /** Its heading sorts; `by`: the rows are in its order. */
  sorting?: { by: 'asc' | 'desc' | undefined; onSort(): void };
  cell(row: Row): ReactNode;
}

export interface TableProps<Row> {
  /** What it lists, for those who do not see it. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  /** A row that is moved, and where it would come to stand. */
  markOf?(row: Row): keyof typeof MARKS | undefined;
}

export function Table<Row>({ label, columns, rows, keyOf, markOf }: TableProps<Row>) {
  return (
    <div
      className="overflow-x-auto rounded-lg border border-line bg-panel"
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <table className="w-full border-collapse text-left">
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th
                key={at}
                scope="col"
                aria-sort={column.sorting && SORTS[column.sorting.by ?? 'none']}
                className={`border-b border-line text-muted ${toClasses(column)}`}
              >
                <Heading {...column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={keyOf(row)}
              className={`border-b border-line last:border-0 hover:bg-raised ${MARKS[markOf?.(row) ?? 'none']}`}
            >
              {columns.map((column, at) => (
                <td key={at} className={toClasses(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// --- internal ---

const MARKS = {
  none: '',
  moved: 'opacity-50',
  above: 'shadow-[inset_0_2px_0_0_var(--color-accent)]',
  below: 'shadow-[inset_0_-2px_0_0_var(--color-accent)]',
} as const;

const SORTS = { none: 'none', asc: 'ascending', desc: 'descending' } as const;
const ARROWS = { none: '', asc: ' ▲', desc: ' ▼' } as const;

function Heading({ title, note, sorting }: Pick<Column<never>, 'title' | 'note' | 'sorting'>) {
  return (
    <>
      {sorting ? (
        <button type="button" className="whitespace-nowrap hover:underline" onClick={sorting.onSort}>
          <bdi>{title}</bdi>
          <span aria-hidden>{ARROWS[sorting.by ?? 'none']}</span>
        </button>
      ) : (
        title
      )}
      {note !== undefined && <span className="block text-xs font-normal whitespace-nowrap">{note}</span>}
    </>
  );
}

function toClasses({ end, wide, narrow }: { end?: boolean; wide?: boolean; narrow?: boolean }): string {
  return `px-3 py-2 align-top ${end ? 'text-right tabular-nums' : ''} ${wide ? 'hidden md:table-cell' : ''} ${narrow ? 'w-px' : ''}`;
}
