import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { OperationInput } from '@svc/runtime/client';
import { refreshRooms } from '../../api/refresh.ts';
import { useBox, useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Button } from '../../ui/button.tsx';
import { toCount } from '../../ui/count.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Link } from '../../ui/link.tsx';
import { Menu } from '../../ui/menu.tsx';
import { toast, toastFailure } from '../../ui/toast.tsx';
import { createWork, NOTHING } from './all-work.ts';
import type { WorkState } from './all-work.ts';

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
    done: 'retried',
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
    note: 'Their steps go with them. This cannot be undone.',
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
      {way && <AllDialog key={`${way} ${JSON.stringify(filter)}`} way={way} filter={filter} onClose={close} />}
    </>
  );
}

// --- internal ---

/** Most runs that the box takes in one request. */
const AT_ONCE = 200;

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
  const { isBusy, isAll, error, grown, ...result } = useWork(way, meant);
  const count = grown?.to ?? counted.data?.matched;
  const what = count === undefined ? 'all runs' : toRuns(count);
  const go = () => count !== undefined && void result.go(count);
  return (
    <Dialog
      title={isAll ? `${toRuns(result.done)} ${result.done === 1 ? 'was' : 'were'} ${done}` : `${verb} ${what}?`}
      onClose={onClose}
      actions={
        isAll ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            <Button onClick={onClose}>{isBusy ? 'Stop' : 'Cancel'}</Button>
            <Button look={danger ? 'danger' : 'primary'} busy={isBusy} disabled={!count} onClick={go}>
              {verb} {what}
            </Button>
          </>
        )
      }
    >
      {!isAll && (
        <Answer of={counted} rows={2}>
          {({ matched }) =>
            (count ?? matched) === 0 ? (
              <p>None of the runs that the filters let through is one {which}.</p>
            ) : (
              <>
                <p>
                  {toRuns(count ?? matched)} {which} {(count ?? matched) === 1 ? 'is' : 'are'} let through by the
                  filters.
                </p>
                <p className="mt-1 text-muted">{note}</p>
              </>
            )
          }
        </Answer>
      )}
      <p role="status" className="mt-2">
        {!isAll && result.done + result.refused > 0 && `${toRuns(result.done)} so far.`}
        {grown &&
          result.done + result.refused === 0 &&
          `Since you were asked ${toRuns(grown.to - grown.from)} more became so. Nothing was done yet.`}
      </p>
      {result.refused > 0 && <Refused refused={result.refused} failed={result.failed} />}
      {error !== undefined && <Failure error={error} onRetry={go} />}
    </Dialog>
  );
}

function useWork(way: Way, meant: object): WorkState & { go(agreed: number): Promise<void> } {
  const { client } = useBox();
  const queries = useQueryClient();
  const [state, show] = useState(NOTHING);
  const { id, done } = WAYS[way];
  // The dialog of another filter is another dialog.
  const [work] = useState(() =>
    createWork({
      ask: (how) => client.call(id, { ...meant, limit: AT_ONCE, ...how } as never),
      show,
      say: ({ error, isAll, ...sum }) => {
        const text = `${toRuns(sum.done)} ${sum.done === 1 ? 'was' : 'were'} ${done}`;
        const refused = sum.refused > 0 ? `, ${toCount(sum.refused)} refused` : '';
        if (error !== undefined) toastFailure(error);
        toast(
          `${text}${refused}${isAll ? '.' : ' until it was stopped: the others are as they were.'}`,
          isAll ? 'good' : 'bad',
        );
      },
    }),
  );
  useEffect(() => work.enter(), [work]);
  const go = async (agreed: number): Promise<void> => {
    await work.go(agreed);
    void refreshRooms(queries, ['runs', 'sessions']);
  };
  return { ...state, go };
}

function Refused({ refused, failed }: Pick<WorkState, 'refused' | 'failed'>) {
  return (
    <section aria-label="Refused" className="mt-2">
      <h3 className="font-medium text-bad">{toRuns(refused)} refused</h3>
      <ul className="mt-1 text-xs">
        {failed.map(({ runId, code, message }) => (
          <li key={runId} className="wrap-anywhere">
            <Link to={`/runs/${runId}`}>{runId.slice(0, 8)}</Link> <code>{code}</code> <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
      {refused > failed.length && <p className="text-xs text-muted">And {toCount(refused - failed.length)} more.</p>}
    </section>
  );
}

function toRuns(count: number): string {
  return `${toCount(count)} ${count === 1 ? 'run' : 'runs'}`;
}
