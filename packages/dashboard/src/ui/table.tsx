import { memo, useEffect, useState } from 'react';
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

/** Rows as cards where there is little room, unless a heading sorts: that is where one sorts. */
export function Table<Row>({ label, columns, rows, keyOf, markOf }: TableProps<Row>) {
  const drawn = useDrawn(rows.length);
  const isCards = isOfCards(columns);
  const of = isCards ? CARDS : TABLE;
  return (
    <div
      className="@container overflow-x-auto rounded-lg border border-line bg-panel"
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <table className={`w-full border-collapse text-left ${of.block}`}>
        <thead className={of.head}>
          <tr>
            {columns.map((column, place) => (
              <th
                key={place}
                scope="col"
                aria-sort={column.sorting && SORTS[column.sorting.by ?? 'none']}
                className={`border-b border-line text-muted ${toClasses(column)}`}
              >
                <Heading {...column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody className={of.block}>
          {rows.slice(0, drawn).map((row) => (
            <Line key={keyOf(row)} row={row} columns={columns} mark={markOf?.(row) ?? 'none'} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

// --- internal ---

interface LineProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
  mark: keyof typeof MARKS;
}

/** A row, which is drawn again when it is another one alone, and not for those that come below it. */
const Line = memo(function Line<Row>({ row, columns, mark }: LineProps<Row>) {
  const isCards = isOfCards(columns);
  const at = columns.findIndex(({ narrow }) => !narrow);
  const [first, ofFirst] = [columns[at], at > 0 ? CARDS.besides : CARDS.first];
  return (
    <tr className={`border-b border-line last:border-0 hover:bg-raised ${isCards ? CARDS.row : ''} ${MARKS[mark]}`}>
      {columns.map((column, place) => (
        <td key={place} className={`${toClasses(column)} ${isCards ? (column === first ? ofFirst : CARDS.cell) : ''}`}>
          {isCards && column !== first && column.title !== ACTIONS && (
            <span className="mr-1.5 hidden text-xs text-muted @max-xl:inline">{column.title}</span>
          )}
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}) as <Row>(props: LineProps<Row>) => ReactNode;

function isOfCards(columns: readonly { sorting?: unknown }[]): boolean {
  return !columns.some(({ sorting }) => sorting);
}

/** Rows that are drawn in one go: more of them would be felt as a freeze. */
const AT_ONCE = 150;

/** How many of so many rows are drawn by now: a stretch more with each frame. */
function useDrawn(count: number): number {
  const [drawn, setDrawn] = useState(AT_ONCE);
  const isWhole = drawn >= count;
  useEffect(() => {
    if (isWhole) return undefined;
    const timer = setTimeout(() => setDrawn(drawn + AT_ONCE));
    return () => clearTimeout(timer);
  }, [drawn, isWhole]);
  return drawn;
}

/** The heading of a column of buttons, which need none. */
const ACTIONS = 'Actions';

const TABLE = { block: '', head: '' };

const CELL = '@max-xl:w-auto @max-xl:max-w-full @max-xl:min-w-0 @max-xl:p-0 @max-xl:text-left';
/** Of the table itself, and not of the window: there may be a sidebar beside it, and a drawer. */
const CARDS = {
  block: '@max-xl:block',
  head: '@max-xl:hidden',
  row: '@max-xl:flex @max-xl:flex-wrap @max-xl:items-baseline @max-xl:gap-x-4 @max-xl:gap-y-1 @max-xl:px-3 @max-xl:py-2',
  cell: CELL,
  first: `${CELL} @max-xl:basis-full`,
  /** There is a number before it. */
  besides: `${CELL} @max-xl:basis-4/5 @max-xl:grow`,
};

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
  return `px-3 py-2 align-top ${end ? 'text-right tabular-nums' : ''} ${wide ? 'max-md:hidden' : ''} ${narrow ? 'w-px' : ''}`;
}
