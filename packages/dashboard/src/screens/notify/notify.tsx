import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useList } from '../../api/queries.ts';
import { useSearchState } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { Sent } from './sent.tsx';

type Receiver = OperationOutput<'notify.receivers'>['items'][number];

const STATES = ['pending', 'delivered', 'failed'] as const;

/** Who is notified of runs that stop, and what was sent. */
export default function Notify() {
  const [{ receiver, state: asked }, change] = useSearchState();
  const state = STATES.find((each) => each === asked);
  const receivers = useCall('notify.receivers', {});
  const deliveries = useList(
    'notify.deliveries',
    { limit: 50, ...(receiver ? { receiver } : {}), ...(state ? { state } : {}) },
    { keep: true },
  );
  const read = (): void => void Promise.all([receivers.refetch(), deliveries.refetch()]);
  return (
    <Page title="Notifications" actions={<Button onClick={read}>Read again</Button>}>
      <Answer of={receivers} rows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No one is notified">
              Name who is notified of runs that fail, wait or end under <code>notify</code> in{' '}
              <code>svc.config.ts</code>.
            </Empty>
          ) : (
            <>
              <Table label="Receivers" rows={items} keyOf={({ name }) => name} columns={COLUMNS} />
              <h2 className="mt-6 mb-2 font-medium">Sent</h2>
              <div className="mb-3 flex flex-wrap gap-2">
                <Field label="To whom" quiet>
                  {(parts) => (
                    <Select
                      {...parts}
                      value={receiver ?? ''}
                      options={[['', 'To everybody'], ...items.map(({ name }) => [name, `To ${name}`] as const)]}
                      onChange={({ target }) => change({ receiver: target.value || undefined }, 'push')}
                    />
                  )}
                </Field>
                <Field label="State" quiet>
                  {(parts) => (
                    <Select
                      {...parts}
                      value={state ?? ''}
                      options={[['', 'Of any state'], ...STATES.map((each) => [each, each] as const)]}
                      onChange={({ target }) => change({ state: target.value || undefined }, 'push')}
                    />
                  )}
                </Field>
              </div>
              <Sent deliveries={deliveries} />
            </>
          )
        }
      </Answer>
    </Page>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Receiver>[] = [
  {
    title: 'Receiver',
    cell: ({ name, url }) => (
      <>
        <bdi className="wrap-anywhere">{name}</bdi>
        <code className="block text-xs wrap-anywhere text-muted">{url}</code>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ failures, pausedUntil, lastError }) => (
      <>
        {pausedUntil ? (
          <Badge tone="bad">
            paused until <Time at={pausedUntil} />
          </Badge>
        ) : failures > 0 ? (
          <Badge tone="warn">{failures} failed in a row</Badge>
        ) : (
          <Badge tone="good">ok</Badge>
        )}
        {failures > 0 && lastError && <bdi className="block text-xs wrap-anywhere text-bad">{lastError}</bdi>}
      </>
    ),
  },
  { title: 'Waiting', end: true, cell: ({ pending }) => pending },
  { title: 'Events', wide: true, cell: ({ events }) => <code className="text-xs">{events.join(', ')}</code> },
  { title: 'Workflows', wide: true, cell: ({ workflows }) => <bdi>{workflows?.join(', ') ?? 'all'}</bdi> },
];
