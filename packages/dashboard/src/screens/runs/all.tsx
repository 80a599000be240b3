import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { OperationInput, OperationOutput } from '@svc/runtime/client';
import { useBox, useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { toCount } from '../../ui/count.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Menu } from '../../ui/menu.tsx';

const WAYS = {
  cancel: {
    id: 'runs.cancel_all',
    permission: 'runs:cancel',
    statuses: ['queued', 'running', 'waiting', 'blocked'],
    verb: 'Cancel',
    done: 'cancelled',
    danger: true,
    which: 'that have not ended',
    note: 'They and the runs they started end. Their clean-up steps still run.',
  },
  retry: {
    id: 'runs.retry_all',
    permission: 'runs:retry',
    statuses: ['failed', 'cancelled'],
    verb: 'Retry',
    done: 'started anew',
    danger: false,
    which: 'that have failed or were cancelled',
    note: 'Each goes on from the step that failed, as a new run. One that was retried so before is not started twice.',
  },
  delete: {
    id: 'runs.delete_all',
    permission: 'runs:delete',
    statuses: ['completed', 'failed', 'cancelled'],
    verb: 'Delete',
    done: 'deleted',
    danger: true,
    which: 'that are over',
    note: 'Their steps go with them. This is not undone.',
  },
} as const;
type Way = keyof typeof WAYS;

export type RunFilter = Omit<OperationInput<'runs.list'>, 'has' | 'limit' | 'cursor'>;

/** What is done to all runs that a filter lets through, by whoever may; each asks first, and says how many there are. */
export function AllRuns({ filter }: { filter: RunFilter }) {
  const may = useMay();
  const { asked, ask, close } = useDialogs('all');
  const ways = (Object.keys(WAYS) as Way[]).filter((way) => {
    const { permission, statuses } = WAYS[way];
    return may(permission) && (!filter.status || (statuses as readonly string[]).includes(filter.status));
  });
  if (ways.length === 0) return null;
  const way = ways.find((one) => one === asked.all);
  return (
    <>
      <Menu
        label="All of these"
        items={ways.map((one) => ({
          label: `${WAYS[one].verb} all ${WAYS[one].which}…`,
          danger: WAYS[one].danger,
          onSelect: () => ask('all', one),
        }))}
      />
      {way && <AllDialog way={way} filter={filter} onClose={close} />}
    </>
  );
}

// --- internal ---

type Result = Pick<OperationOutput<'runs.cancel_all'>, 'done' | 'failed'> & { isAll: boolean };

interface AllDialogProps {
  way: Way;
  filter: RunFilter;
  onClose(): void;
}

function AllDialog({ way, filter, onClose }: AllDialogProps) {
  const { client } = useBox();
  const { id, verb, which, note, danger, done } = WAYS[way];
  // Runs that come after they were counted are not meant.
  const [to] = useState(() => new Date().toISOString());
  const meant = { ...filter, to: filter.to ?? to } as OperationInput<typeof id>;
  const counted = useQuery({
    // Not in the room of runs: what is asked about stays as many as it was.
    queryKey: ['counted runs', way, meant],
    queryFn: ({ signal }) => client.call(id, { ...meant, dryRun: true } as never, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const { result, error, isBusy, go } = useAll(id, meant);
  const count = counted.data?.matched;
  const what = count === undefined ? 'all runs' : toRuns(count);
  return (
    <Dialog
      title={
        result?.isAll ? `${toRuns(result.done)} ${result.done === 1 ? 'was' : 'were'} ${done}` : `${verb} ${what}?`
      }
      onClose={onClose}
      actions={
        result?.isAll ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            <Button onClick={onClose}>{isBusy ? 'Stop' : 'Cancel'}</Button>
            <Button look={danger ? 'danger' : 'primary'} busy={isBusy} disabled={!count} onClick={() => void go()}>
              {verb} {what}
            </Button>
          </>
        )
      }
    >
      {!result?.isAll && (
        <Answer of={counted} rows={2}>
          {({ matched }) =>
            matched === 0 ? (
              <p>None of the runs that the filters let through is one {which}.</p>
            ) : (
              <>
                <p>
                  {toRuns(matched)} {which} {matched === 1 ? 'is' : 'are'} let through by the filters.
                </p>
                <p className="mt-1 text-muted">{note}</p>
              </>
            )
          }
        </Answer>
      )}
      <p role="status" className="mt-2">
        {result && !result.isAll && `${toRuns(result.done)} so far.`}
      </p>
      {result && result.failed.length > 0 && <Refused failed={result.failed} />}
      {error !== undefined && <Failure error={error} onRetry={() => void go()} />}
    </Dialog>
  );
}

/** One request after the other until none is left, or whoever asked has gone. */
function useAll(id: (typeof WAYS)[Way]['id'], meant: object) {
  const { client } = useBox();
  const queries = useQueryClient();
  const [result, setResult] = useState<Result>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const cursor = useRef<string>(undefined);
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
    };
  }, []);
  const go = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    let sum: Result = result ?? { done: 0, failed: [], isAll: false };
    try {
      do {
        const input = { ...meant, ...(cursor.current === undefined ? {} : { cursor: cursor.current }) };
        const { done, failed, nextCursor } = await client.call(id, input as never);
        cursor.current = nextCursor ?? undefined;
        sum = { done: sum.done + done, failed: [...sum.failed, ...failed], isAll: nextCursor === null };
        setResult(sum);
      } while (!sum.isAll && !isGone.current);
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
    void queries.invalidateQueries({ predicate: ({ queryKey: [of] }) => /^(?:runs|sessions)\./.test(String(of)) });
  };
  return { result, error, isBusy, go };
}

/** Refusals that are shown one by one. */
const LISTED = 20;

function Refused({ failed }: { failed: Result['failed'] }) {
  return (
    <section aria-label="Refused" className="mt-2">
      <h3 className="font-medium text-bad">{toRuns(failed.length)} refused</h3>
      <ul className="mt-1 text-xs">
        {failed.slice(0, LISTED).map(({ runId, code, message }) => (
          <li key={runId} className="wrap-anywhere">
            <Link to={`/runs/${runId}`}>{runId.slice(0, 8)}</Link> <code>{code}</code> <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
      {failed.length > LISTED && <p className="text-xs text-muted">And {toCount(failed.length - LISTED)} more.</p>}
    </section>
  );
}

function toRuns(count: number): string {
  return `${toCount(count)} ${count === 1 ? 'run' : 'runs'}`;
}
