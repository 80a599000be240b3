import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode, RefObject } from 'react';
import { useSearchState } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Rows, showRow } from '../../ui/rows.tsx';
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

/**
 * A row a record, the newest last; one is opened to see all of it, which the address holds. Up and down go through them, and
 * Enter opens the one that is marked.
 */
export function LogLines({ empty, ...log }: ShownLines & { empty: ReactNode }) {
  const { lines, isLoading, error, isRetrying, isCut, hasGap, hasOlder, onOlder, onRetry } = log;
  const [{ record }, setSearch] = useSearchState();
  const open = useMemo(() => lines.find(({ id }) => String(id) === record), [lines, record]);
  const setOpen = (line: LogLine | undefined) => setSearch({ record: line && String(line.id) }, line ? 'push' : 'back');
  // By its id: the places change as records come.
  const [markedId, setMarked] = useState<number>();
  const [isBusy, setBusy] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  useStay(list, lines);
  const at = markedId === undefined ? -1 : lines.findIndex(({ id }) => id === markedId);
  const mark = (index: number): void => {
    const place = Math.max(0, Math.min(lines.length - 1, index));
    setMarked(lines[place]?.id);
    showRow(list.current, place, ROW);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const from = at < 0 ? lines.length : at;
    const moves: Record<string, () => void> = {
      ArrowUp: () => mark(from - 1),
      ArrowDown: () => mark(from + 1),
      PageUp: () => mark(from - 20),
      PageDown: () => mark(from + 20),
      Home: () => mark(0),
      End: () => mark(lines.length - 1),
      Enter: () => at >= 0 && setOpen(lines[at]),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  };
  const older = async () => {
    setBusy(true);
    await onOlder();
    setBusy(false);
  };
  if (isLoading && lines.length === 0 && !error) return <Loading />;
  return (
    <>
      {error !== undefined && <Failure error={error} onRetry={onRetry} />}
      {isRetrying && (
        <p className="-mt-3 mb-2 text-xs text-muted">It is tried again by itself, until it is answered.</p>
      )}
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
        error === undefined && empty
      ) : (
        <Rows
          role="log"
          handle={list}
          aria-label="Log records"
          aria-live="off"
          tabIndex={0}
          onKeyDown={onKeyDown}
          follow={markedId === undefined}
          count={lines.length}
          rowHeight={ROW}
          className="h-[65vh] rounded-lg border border-line bg-panel font-mono text-xs"
        >
          {(index) => {
            const line = lines[index] as LogLine;
            return (
              <button
                type="button"
                // The element shows another record when it is scrolled away: the list is what has the focus.
                tabIndex={-1}
                aria-current={index === at || undefined}
                className="flex h-full w-full items-center gap-2 px-2 text-left hover:bg-raised aria-[current]:bg-accent-soft"
                onClick={() => {
                  setMarked(line.id);
                  setOpen(line);
                }}
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
      <p role="status" className="sr-only">
        {at >= 0 && `${lines[at]?.level}: ${lines[at]?.message.slice(0, 200)}`}
      </p>
      {record !== undefined && !open && lines.length > 0 && (
        <p className="mt-2 text-muted">
          The record of this address is not among those that are shown{hasOlder ? ': show older ones to see it' : ''}.{' '}
          <Button small onClick={() => setOpen(undefined)}>
            Forget it
          </Button>
        </p>
      )}
      {open && <Record line={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

// --- internal ---

function Record({ line, onClose }: { line: LogLine; onClose(): void }) {
  const { level, at, message, fields, runId, step, requestId } = line;
  return (
    <Dialog wide title={`${level} at ${toWhole(at)}`} onClose={onClose}>
      <Value label="Message" value={message} />
      {fields && <Value label="Fields" value={fields} />}
      {runId !== null && (
        <p>
          <Link to={`/runs/${runId}`}>Open its run</Link>
          {step !== null && ` · step ${step}`}
        </p>
      )}
      {requestId !== null && <p className="text-xs text-muted">request {requestId}</p>}
    </Dialog>
  );
}

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
