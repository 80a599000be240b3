import { useMemo, useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { Badge } from '../../ui/badge.tsx';
import { Copy } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { More } from '../../ui/more.tsx';
import { toDuration } from '../../ui/time.tsx';
import { CopyRows } from './copy-rows.tsx';
import { Grid } from './grid.tsx';

/** What a statement has answered, a hundred rows at first. */
export function Result({ columns, rows, cut, durationMs }: OperationOutput<'database.query'>) {
  const plan = toPlan(columns, rows);
  return (
    <>
      <p role="status" className="mb-2 flex flex-wrap items-center gap-2 text-muted">
        {rows.length.toLocaleString('en')} {rows.length === 1 ? 'row' : 'rows'} in {toDuration(durationMs)}
        {cut && <Badge tone="warn">{CUT[cut]}</Badge>}
      </p>
      {plan === undefined ? <Rows columns={columns} rows={rows} /> : <Plan text={plan} />}
    </>
  );
}

// --- internal ---

const CUT = { rows: 'cut off: there are more rows', size: 'cut off: more would be too large' } as const;
const STEP = 100;

function Rows({ columns, rows }: Pick<OperationOutput<'database.query'>, 'columns' | 'rows'>) {
  const [most, setMost] = useState(STEP);
  const shown = useMemo(() => rows.slice(0, most), [rows, most]);
  if (rows.length === 0)
    return <Empty title="No row came of it">Change the statement: its conditions leave nothing.</Empty>;
  return (
    <>
      <Grid label="Result" columns={columns} rows={shown} />
      <More has={most < rows.length} busy={false} onMore={() => setMost(most + STEP)} />
      <CopyRows columns={columns} rows={rows} />
    </>
  );
}

/** How a statement would be run: `explain` answers it as lines. */
function toPlan(columns: readonly { name: string }[], rows: readonly (readonly unknown[])[]): string | undefined {
  if (columns.length !== 1 || columns[0]?.name !== 'QUERY PLAN') return undefined;
  const lines = rows.map(([line]) => line);
  return lines.every((line) => typeof line === 'string') ? lines.join('\n') : undefined;
}

function Plan({ text }: { text: string }) {
  return (
    <>
      <pre
        tabIndex={0}
        aria-label="Plan"
        className="overflow-x-auto rounded-lg border border-line bg-panel p-3 font-mono text-xs"
      >
        {text}
      </pre>
      <div className="mt-2 text-right">
        <Copy text={text} />
      </div>
    </>
  );
}
