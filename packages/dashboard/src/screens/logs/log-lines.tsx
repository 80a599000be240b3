import { useLayoutEffect, useRef, useState } from 'react';
import type { RefObject } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Rows } from '../../ui/rows.tsx';
import { toWhole } from '../../ui/time.tsx';
import { Value } from '../../ui/value.tsx';
import type { LogLine } from './follow-lines.ts';
import type { ShownLines } from './use-logs.ts';

const ROW = 24;
const TONES: Record<LogLine['level'], string> = {
  debug: 'text-muted',
  info: 'text-accent',
  warn: 'text-warn',
  error: 'text-bad font-medium',
};

/** A row a record, the newest last; one is opened to see all of it. */
export function LogLines({ empty, ...log }: ShownLines & { empty: string }) {
  const { lines, isLoading, error, isCut, hasGap, hasOlder, onOlder } = log;
  const [open, setOpen] = useState<LogLine>();
  const [isBusy, setBusy] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  useStay(list, lines);
  const older = async () => {
    setBusy(true);
    await onOlder();
    setBusy(false);
  };
  if (isLoading && lines.length === 0 && !error) return <Loading />;
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      {isCut && <p className="mb-1 text-xs text-muted">Older records were dropped. Narrow them down to see those.</p>}
      {hasGap && (
        <p role="status" className="mb-1 text-xs text-warn">
          Some records are missing here: the box does not keep what came while this page was away.
        </p>
      )}
      {hasOlder && (
        <p className="mb-2 text-center">
          <Button small busy={isBusy} onClick={() => void older()}>
            Show older
          </Button>
        </p>
      )}
      {lines.length === 0 ? (
        <Empty title={empty} />
      ) : (
        <Rows
          role="log"
          handle={list}
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
        <Dialog wide title={`${open.level} at ${toWhole(open.at)}`} onClose={() => setOpen(undefined)}>
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

// --- internal ---

/** When older ones come in front, those appear: what was the first is then the last that is seen. */
function useStay(list: RefObject<HTMLDivElement | null>, lines: readonly LogLine[]): void {
  const first = useRef<number>(undefined);
  useLayoutEffect(() => {
    const before = first.current;
    first.current = lines[0]?.id;
    if (before === undefined || !list.current || (first.current ?? before) >= before) return;
    const added = lines.findIndex(({ id }) => id === before);
    list.current.scrollTop = Math.max(0, (added + 1) * ROW - list.current.clientHeight);
  }, [list, lines]);
}
