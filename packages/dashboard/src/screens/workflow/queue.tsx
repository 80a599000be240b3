import type { OperationOutput } from '@svc/runtime/client';
import { useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
import { previewOf } from '../../ui/json/rows.ts';
import { List } from '../../ui/list.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';

type Queued = OperationOutput<'workflows.queue'>['items'][number];

/** The starts that wait for a place or a time. */
export function Queue({ name }: { name: string }) {
  const queue = useList('workflows.queue', { name });
  const drop = useChange('workflows.dequeue');
  const mayDrop = useMay()('runs:cancel');
  const { asked, ask, close } = useDialogs('drop');
  const dropped = mayDrop ? queue.items?.find(({ triggerId }) => triggerId === asked.drop) : undefined;
  return (
    <>
      <List
        of={queue}
        label={`Queue of ${name}`}
        keyOf={({ triggerId }) => triggerId}
        columns={[
          { title: '#', end: true, cell: ({ position }) => position },
          {
            title: 'Input',
            cell: ({ input }) => (
              <code className="text-xs wrap-anywhere">
                <bdi>{previewOf(input)}</bdi>
              </code>
            ),
          },
          { title: 'Waits for', cell: ({ waitsFor }) => WAITS[waitsFor] },
          { title: 'Ready', wide: true, cell: ({ readyAt }) => <Time at={readyAt} /> },
          { title: 'Priority', end: true, wide: true, cell: ({ priority }) => priority },
          { title: 'Asked', wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
          ...(mayDrop
            ? [
                {
                  title: 'Actions',
                  end: true,
                  cell: (row: Queued) => (
                    <Button
                      small
                      aria-label={`Drop the start at ${row.position}`}
                      onClick={() => ask('drop', row.triggerId)}
                    >
                      Drop
                    </Button>
                  ),
                },
              ]
            : []),
        ]}
        empty={
          <Empty title="No start waits">
            Starts wait here for a place of a workflow that takes so many runs at once, or for their time.
          </Empty>
        }
      />
      {dropped && (
        <Confirm
          title="Drop this start?"
          verb="Drop"
          danger
          onClose={close}
          onConfirm={async () => {
            await drop.mutateAsync({ name, triggerId: dropped.triggerId });
            toast('The start was dropped.');
          }}
        >
          It never becomes a run.
        </Confirm>
      )}
    </>
  );
}

// --- internal ---

const WAITS: Record<Queued['waitsFor'], string> = {
  lock: 'a place',
  delay: 'its time',
  throttle: 'its turn',
  debounce: 'a quiet moment',
};
