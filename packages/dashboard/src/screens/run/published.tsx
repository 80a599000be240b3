import { useQuery } from '@tanstack/react-query';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall } from '../../api/queries.ts';
import { useBox } from '../../app/box.ts';
import { useDialogs } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { toCount } from '../../ui/count.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Json } from '../../ui/json/json.tsx';
import { Panel } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Value } from '../../ui/value.tsx';

type Stream = OperationOutput<'runs.streams'>['items'][number];

/** What a run has published last, and the streams it has written to. */
export function Published({ id }: { id: string }) {
  const state = useCall('runs.state', { id });
  const streams = useCall('runs.streams', { id });
  const { asked, ask, close } = useDialogs('stream');
  return (
    <>
      <Panel title="State">
        <Answer of={state} rows={2}>
          {(one) =>
            one.state === null ? (
              <Empty title="It has published no state">
                <code>svc.publish(state)</code> in the workflow says how far it is, and it is shown here as it changes.
              </Empty>
            ) : (
              <Json value={one.state} label="State" />
            )
          }
        </Answer>
      </Panel>
      <Panel title="Streams">
        <Answer of={streams} rows={2}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="It has written to no stream">
                What a step writes to <code>getWritable()</code>, or returns as a stream, is kept with the run.
              </Empty>
            ) : (
              <Table
                label="Streams"
                columns={[
                  {
                    title: 'Stream',
                    cell: ({ name }: Stream) => (
                      <button
                        type="button"
                        className="text-left text-accent underline"
                        onClick={() => ask('stream', name)}
                      >
                        <bdi>{name}</bdi>
                      </button>
                    ),
                  },
                  { title: 'Frames', end: true, cell: ({ frames }: Stream) => toCount(frames) },
                  {
                    title: 'State',
                    cell: ({ isClosed }: Stream) =>
                      isClosed ? <Badge>closed</Badge> : <Badge tone="accent">open</Badge>,
                  },
                ]}
                rows={items}
                keyOf={({ name }) => name}
              />
            )
          }
        </Answer>
      </Panel>
      {asked.stream !== undefined && <Frames id={id} name={asked.stream} onClose={close} />}
    </>
  );
}

// --- internal ---

/** Frames of a stream that are shown: the newest. */
const SHOWN = 100;

function Frames({ id, name, onClose }: { id: string; name: string; onClose(): void }) {
  const { client } = useBox();
  const frames = useQuery({
    queryKey: ['runs.stream', { id, name }],
    queryFn: async ({ signal }) => {
      const values: unknown[] = [];
      for await (const frame of client.stream('runs.stream', { id, name, startIndex: -SHOWN }, { signal }))
        if (frame.event === 'frame') values.push(frame.data.value);
      return values;
    },
  });
  return (
    <Dialog title={`Stream ${name}`} wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Answer of={frames}>
        {(values) =>
          values.length === 0 ? (
            <Empty title="It has no frame">What the run writes to it is listed here.</Empty>
          ) : (
            <Value
              label={values.length < SHOWN ? 'Its frames' : `Its last ${SHOWN} frames`}
              value={values.every((value) => typeof value === 'string') ? values.join('') : values}
            />
          )
        }
      </Answer>
    </Dialog>
  );
}
