import { useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { TriggerForm } from './trigger-form.tsx';
import { DeliveryState, senderOf, Target, TriggerState } from './trigger-state.tsx';
import type { Trigger } from './trigger-state.tsx';

/** What outside services start when they call, or when they are asked. */
export default function Triggers() {
  const mayWrite = useMay()('triggers:write');
  const triggers = useList('triggers.list', {});
  return (
    <Page
      title="Triggers"
      actions={mayWrite && <New label="New trigger">{(close) => <TriggerForm onClose={close} />}</New>}
    >
      <List
        of={triggers}
        label="Triggers"
        keyOf={({ id }) => id}
        columns={COLUMNS}
        empty={
          <Empty title="There is no trigger yet">
            A trigger starts a workflow or an agent when an outside service calls its address with a valid signature, or
            when the box asks a service and finds something new.
          </Empty>
        }
      />
    </Page>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Trigger>[] = [
  {
    title: 'Trigger',
    cell: ({ id, name }) => (
      <Link to={`/triggers/${id}`} className="text-accent underline wrap-anywhere">
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  { title: 'State', cell: ({ state }) => <TriggerState state={state} /> },
  { title: 'Starts', cell: ({ target }) => <Target of={target} /> },
  {
    title: 'Sender',
    wide: true,
    cell: (trigger) => <bdi className="wrap-anywhere">{senderOf(trigger)}</bdi>,
  },
  {
    title: 'For',
    wide: true,
    cell: ({ events }) => <code className="block max-w-64 text-xs wrap-anywhere">{events?.join(' ') ?? 'all'}</code>,
  },
  {
    title: 'Last delivery',
    wide: true,
    cell: ({ lastDelivery }) =>
      lastDelivery === null ? (
        <span className="text-muted">never</span>
      ) : (
        <span className="flex flex-wrap items-center gap-1.5">
          <Time at={lastDelivery.receivedAt} />
          <DeliveryState state={lastDelivery.state} />
        </span>
      ),
  },
];
