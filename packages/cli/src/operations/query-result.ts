import type { Style } from '../terminal/style.ts';
import { formatTable } from '../terminal/table.ts';
import { formatCell } from './columns.ts';
import type { Row } from './row.ts';

/** The rows of a statement as a table, and whether these are all. */
export function formatQueryResult(answer: Row, style: Style): string {
  const columns = answer.columns as { name: string }[];
  const rows = answer.rows as unknown[][];
  const table = formatTable(
    columns.map(({ name }, n) => ({ title: name, cell: (row: unknown[]) => formatCell(row[n]), shrinks: true })),
    rows,
    style,
  );
  // On a pipe there are rows and nothing else.
  if (style.columns === undefined) return table;
  return [
    ...(rows.length > 0 ? [table, ''] : []),
    style.dim(`${count(rows.length)}${CUTS[String(answer.cut)] ?? ''}`),
  ].join('\n');
}

// --- internal ---

const CUTS: Record<string, string> = {
  rows: '; there are more, which an answer does not hold. Add a limit or an order.',
  size: '; there are more, which an answer does not hold: it ends after 5 MiB.',
};

function count(rows: number): string {
  return rows === 1 ? '1 row' : `${rows} rows`;
}
