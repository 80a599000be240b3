import { useChange } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toast, toastFailure } from '../../ui/toast.tsx';
import { DeliveryState } from '../triggers/trigger-state.tsx';
import type { Delivery } from '../triggers/trigger-state.tsx';
import type { TriggerDetail } from './trigger.tsx';

/** The newest deliveries of a trigger, and the outcome of each. */
export function Deliveries({ trigger: { id, kind, deliveries } }: { trigger: TriggerDetail }) {
  const mayWrite = useMay()('triggers:write');
  const redeliver = useChange('triggers.redeliver', ['triggers', 'runs']);
  if (deliveries.length === 0)
    return (
      <Empty title="Nothing has come yet">
        {kind === 'poll'
          ? 'Each new item that the box finds is listed here, whatever comes of it.'
          : 'Give its address to the service: what that sends is listed here, whatever comes of it.'}
      </Empty>
    );
  const nameless = kind === 'poll' ? 'an item' : 'a call';
  const run = async (delivery: Delivery) => {
    try {
      await redeliver.mutateAsync({ id, deliveryId: delivery.id });
      toast('It is delivered again.');
    } catch (error) {
      toastFailure(error);
    }
  };
  const actions: Column<Delivery> = {
    title: 'Actions',
    end: true,
    // Of what it was not for nothing is kept, and what waits comes by itself.
    cell: (delivery) =>
      delivery.state !== 'filtered' &&
      delivery.state !== 'pending' && (
        <Button
          small
          aria-label={`Redeliver ${delivery.event ?? nameless} ${delivery.id.slice(0, 8)}`}
          busy={redeliver.isPending && redeliver.variables.deliveryId === delivery.id}
          disabled={redeliver.isPending}
          onClick={() => void run(delivery)}
        >
          Redeliver
        </Button>
      ),
  };
  return (
    <Table
      label="Deliveries"
      rows={deliveries}
      keyOf={(delivery) => delivery.id}
      columns={mayWrite ? [eventOf(nameless), ...COLUMNS, actions] : [eventOf(nameless), ...COLUMNS]}
    />
  );
}

// --- internal ---

const COLUMNS: readonly Column<Delivery>[] = [
  {
    title: 'State',
    cell: ({ state, problem, nextAt }) => (
      <>
        <span className="flex flex-wrap items-center gap-1.5">
          <DeliveryState state={state} />
          {state === 'failed' && <Time at={nextAt} />}
        </span>
        {problem && (
          <bdi className="block max-w-96 text-xs wrap-anywhere text-bad">
            {problem.message}
            {problem.issues.map(({ path, message }) => (
              <span key={path.join('.')} className="block">
                {path.join('.')}: {message}
              </span>
            ))}
          </bdi>
        )}
      </>
    ),
  },
  {
    title: 'Run',
    cell: ({ runId, queueId }) =>
      runId === null ? (
        (queueId && 'in the queue') || '–'
      ) : (
        <Link to={`/runs/${runId}`}>
          <code className="text-xs">{runId.slice(0, 8)}</code>
        </Link>
      ),
  },
  { title: 'Received', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
  { title: 'Attempts', end: true, wide: true, cell: ({ attempts }) => attempts },
  { title: 'Bytes', end: true, wide: true, cell: ({ bytes }) => bytes.toLocaleString('en') },
];

/** What has happened, where its sender says. */
function eventOf(nameless: string): Column<Delivery> {
  return {
    title: 'Event',
    cell: ({ event, senderId, redeliveryOf }) => (
      <>
        <bdi className="wrap-anywhere">{event ?? nameless}</bdi>
        {redeliveryOf !== null && (
          <>
            {' '}
            <Badge tone="accent">again</Badge>
          </>
        )}
        {senderId !== null && <code className="block text-xs wrap-anywhere text-muted">{senderId}</code>}
      </>
    ),
  };
}
