import { Copy } from '../../ui/copy.tsx';
import { toCsv, toJson } from './export.ts';

export interface CopyRowsProps {
  columns: readonly { name: string }[];
  rows: readonly (readonly unknown[])[];
}

/** The rows that are there, to be put somewhere else. */
export function CopyRows({ columns, rows }: CopyRowsProps) {
  const count = `${rows.length.toLocaleString('en')} ${rows.length === 1 ? 'row' : 'rows'}`;
  return (
    <div className="mt-2 flex flex-wrap items-center gap-2 text-xs text-muted">
      <span className="flex-1">{count}</span>
      <Copy label="Copy as CSV" text={() => toCsv(columns, rows)} />
      <Copy label="Copy as JSON" text={() => toJson(columns, rows)} />
    </div>
  );
}
