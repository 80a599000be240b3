import type { OperationOutput } from '@svc/runtime/client';
import { useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import type { Listed } from '../../ui/list.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toast, toastFailure } from '../../ui/toast.tsx';

type Delivery = OperationOutput<'notify.deliveries'>['items'][number];

/** Each message with the outcome of it; one that is over can be sent once more. */
export function Sent({ deliveries }: { deliveries: Listed<Delivery> }) {
  const mayWrite = useMay()('settings:write');
  const redeliver = useChange('notify.redeliver');
  const send = async (id: string): Promise<void> => {
    try {
      await redeliver.mutateAsync({ id });
      toast('It is sent again.');
    } catch (error) {
      toastFailure(error);
    }
  };
  const actions: Column<Delivery> = {
    title: 'Actions',
    end: true,
    // What waits is sent by itself.
    cell: ({ deliveryId, type, state }) =>
      state !== 'pending' && (
        <Button
          small
          aria-label={`Send ${type} ${deliveryId.slice(-8)} again`}
          busy={redeliver.isPending && redeliver.variables.id === deliveryId}
          disabled={redeliver.isPending}
          onClick={() => void send(deliveryId)}
        >
          Send again
        </Button>
      ),
  };
  return (
    <List
      of={deliveries}
      label="Sent"
      keyOf={({ deliveryId }) => deliveryId}
      columns={mayWrite ? [...COLUMNS, actions] : COLUMNS}
      empty={<Empty title="Nothing was sent">A message is sent when a run stops that a receiver is notified of.</Empty>}
    />
  );
}

// --- internal ---

const COLUMNS: readonly Column<Delivery>[] = [
  {
    title: 'Message',
    cell: ({ type, receiver }) => (
      <>
        <code className="text-xs">{type}</code>
        <span className="block text-xs text-muted">
          to <bdi>{receiver}</bdi>
        </span>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ state, nextAt, lastError }) => (
      <>
        <span className="flex flex-wrap items-center gap-1.5">
          <Status value={state} />
          {nextAt && (
            <span className="text-xs">
              again <Time at={nextAt} />
            </span>
          )}
        </span>
        {lastError && <bdi className="block max-w-96 text-xs wrap-anywhere text-bad">{lastError}</bdi>}
      </>
    ),
  },
  {
    title: 'Run',
    cell: ({ runId }) => (
      <Link to={`/runs/${runId}`}>
        <code className="text-xs">{runId.slice(0, 8)}</code>
      </Link>
    ),
  },
  { title: 'Attempts', end: true, wide: true, cell: ({ attempts }) => attempts },
  { title: 'Made', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];
