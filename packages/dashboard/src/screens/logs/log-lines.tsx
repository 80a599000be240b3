import { useState } from 'react';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Rows } from '../../ui/rows.tsx';
import { Value } from '../../ui/value.tsx';
import type { Lines, LogLine } from './use-logs.ts';

const ROW = 24;
const TONES: Record<LogLine['level'], string> = {
  debug: 'text-muted',
  info: 'text-accent',
  warn: 'text-warn',
  error: 'text-bad font-medium',
};

/** A row a record, the newest last; one is opened to see all of it. */
export function LogLines({ lines, isLoading, error, isCut, empty }: Lines & { empty: string }) {
  const [open, setOpen] = useState<LogLine>();
  if (isLoading && lines.length === 0 && !error) return <Loading />;
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      {isCut && <p className="mb-1 text-xs text-muted">Older records were dropped. Narrow them down to see those.</p>}
      {lines.length === 0 ? (
        <Empty title={empty} />
      ) : (
        <Rows
          role="log"
          aria-label="Log records"
          aria-live="off"
          tabIndex={0}
          follow
          count={lines.length}
          rowHeight={ROW}
          className="h-[65vh] rounded-lg border border-line bg-panel font-mono text-xs"
        >
          {(index) => {
            const line = lines[index] as LogLine;
            return (
              <button
                type="button"
                className="flex h-full w-full items-center gap-2 px-2 text-left hover:bg-raised"
                onClick={() => setOpen(line)}
              >
                <span className="hidden shrink-0 text-muted md:inline">{line.at.slice(11, 23)}</span>
                <span className={`w-10 shrink-0 ${TONES[line.level]}`}>{line.level}</span>
                {line.name !== null && <bdi className="max-w-32 shrink-0 truncate text-muted">{line.name}</bdi>}
                <bdi className="min-w-0 flex-1 truncate">{line.message.slice(0, 500)}</bdi>
              </button>
            );
          }}
        </Rows>
      )}
      {open && (
        <Dialog
          wide
          title={`${open.level} at ${new Date(open.at).toLocaleString()}`}
          onClose={() => setOpen(undefined)}
        >
          <Value label="Message" value={open.message} />
          {open.fields && <Value label="Fields" value={open.fields} />}
          {open.runId !== null && (
            <p>
              <Link to={`/runs/${open.runId}`}>Open its run</Link>
              {open.step !== null && ` · step ${open.step}`}
            </p>
          )}
          {open.requestId !== null && <p className="text-xs text-muted">request {open.requestId}</p>}
        </Dialog>
      )}
    </>
  );
}
