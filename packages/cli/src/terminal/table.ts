import { toPlainText } from './style.ts';
import type { Style } from './style.ts';
import { shorten, textWidth } from './width.ts';

export interface Column<T> {
  title: string;
  cell(row: T): string;
  /** May be shortened when the terminal is narrow, to that width or 8. What is shown of an id may not: less of it fits several. */
  shrinks?: boolean | number;
  /** The title of a column of more use, for which this one is left out where both have no room. */
  yieldsTo?: string;
  paint?(text: string, row: T, style: Style): string;
}

/**
 * On a terminal: a header and aligned columns, no line wider than the terminal; long cells are shortened, then columns
 * at the right are left out. On a pipe: one row per line, cells separated by tabs, no header.
 */
export function formatTable<T>(columns: readonly Column<T>[], rows: readonly T[], style: Style): string {
  const cells = rows.map((row) => columns.map((column) => toCell(column.cell(row))));
  if (style.columns === undefined) return cells.map((line) => line.join('\t')).join('\n');

  const widths = fitWidths(columns, cells, style.columns);
  const missing = columns.slice(widths.length).map(({ title }) => title);
  const lasting = columns.filter(({ yieldsTo }) => yieldsTo === undefined || !missing.includes(yieldsTo));
  if (lasting.length < columns.length) return formatTable(lasting, rows, style);
  const header = widths.map((width, i) => style.dim(fit(columns[i]?.title ?? '', width, style)));
  const lines = rows.map((row, at) =>
    widths.map((width, i) => {
      const text = fit(cells[at]?.[i] ?? '', width, style);
      return columns[i]?.paint?.(text, row, style) ?? text;
    }),
  );
  return [header, ...lines].map((line) => line.join(GAP).trimEnd()).join('\n');
}

// --- internal ---

const GAP = '  ';
const SHORTEST = 8;

function toCell(text: string): string {
  return toPlainText(text).replaceAll(/\s+/g, ' ').trim();
}

/** The width of each column that is shown; columns that do not fit are missing at the end. */
function fitWidths<T>(columns: readonly Column<T>[], cells: string[][], total: number): number[] {
  const natural = columns.map((column, i) =>
    Math.max(...[column.title, ...cells.map((line) => line[i] ?? '')].map(textWidth)),
  );
  for (let count = natural.length; count > 0; count -= 1) {
    const widths = shrinkWidths(columns, natural.slice(0, count), total);
    if (lineWidth(widths) <= total) return widths;
  }
  return [total];
}

/** Shortens from the left what may be shortened, as far as it has to be. */
function shrinkWidths<T>(columns: readonly Column<T>[], natural: number[], total: number): number[] {
  const widths = [...natural];
  for (const [i, width] of natural.entries()) {
    const { shrinks } = columns[i] ?? {};
    const shortest = typeof shrinks === 'number' ? shrinks : SHORTEST;
    const overflow = lineWidth(widths) - total;
    if (shrinks && overflow > 0) widths[i] = Math.min(width, Math.max(shortest, width - overflow));
  }
  return widths;
}

function lineWidth(widths: number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
}

/** Pads or cuts to exactly `width` cells. */
function fit(text: string, width: number, style: Style): string {
  const own = textWidth(text);
  if (own <= width) return text + ' '.repeat(width - own);
  return shorten(text, Math.max(width, 1), style.ellipsis);
}
