import { useMemo, useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { newId } from '../../api/new-id.ts';
import { useCall, useChange } from '../../api/queries.ts';
import { parseJson } from '../../form/parse-json.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Input, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Link } from '../../ui/link.tsx';

export interface SendEventProps {
  /** Names of events by which a workflow of this workspace starts. */
  known: readonly string[];
  onClose(): void;
}

/** Sends an event by its name, and says who took it. */
export function SendEvent({ known, onClose }: SendEventProps) {
  const send = useChange('events.send', ['runs', 'workflows']);
  const [name, setName] = useState('');
  const [payload, setPayload] = useState('{}');
  const [sent, setSent] = useState<OperationOutput<'events.send'>>();
  // What is sent again, as its answer was lost on its way, is one event.
  const idempotencyKey = useMemo(newId, [name, payload]);
  if (sent) return <Sent event={sent} onClose={onClose} />;
  const submit = async () =>
    setSent(await send.mutateAsync({ name: name.trim(), payload: parseJson('The payload', payload), idempotencyKey }));
  return (
    <FormDialog
      title="Send an event"
      verb="Send"
      incomplete={name.trim() === '' || payload.trim() === ''}
      onSubmit={submit}
      onClose={onClose}
    >
      <p className="text-muted">The runs that wait for it go on, and the workflows that start by it are started.</p>
      <Field label="Name" hint={known.length > 0 ? <Known names={known} /> : 'Such as order.paid'}>
        {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
      </Field>
      <Field label="Payload" hint="As JSON; at most 256 KiB">
        {(parts) => (
          <Textarea {...parts} rows={6} value={payload} onChange={({ target }) => setPayload(target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}

/** How far the run that delivers an event has come, and who took it. */
export function Delivery({ runId }: { runId: string }) {
  const run = useCall('runs.get', { id: runId });
  return (
    <Answer of={run} rows={2}>
      {({ status, output }) => (
        <>
          <p role="status">
            {status === 'completed' ? (
              toSentence(output as Delivered)
            ) : (
              <>
                <Status value={status} /> {ENDED.has(status) ? STOPPED : 'It is being delivered.'}
              </>
            )}
          </p>
          {status === 'completed' && (
            <ul className="mt-2">
              {(output as Delivered).started.map((one) => (
                <li key={one.workflow} className="wrap-anywhere">
                  <bdi>{one.workflow}</bdi> <Status value={one.status} />{' '}
                  {one.status === 'refused' ? (
                    <>
                      <code className="text-xs">{one.error.code}</code> <bdi>{one.error.message}</bdi>
                    </>
                  ) : (
                    one.runId !== undefined && <Link to={`/runs/${one.runId}`}>{one.runId.slice(0, 8)}</Link>
                  )}
                </li>
              ))}
            </ul>
          )}
          <p className="mt-2">
            <Link to={`/runs/${runId}`}>Open its delivery</Link>
          </p>
        </>
      )}
    </Answer>
  );
}

// --- internal ---

/** Names that are said at most. */
const MOST = 8;

function Known({ names }: { names: readonly string[] }) {
  return (
    <>
      Workflows start by <bdi>{names.slice(0, MOST).join(', ')}</bdi>
      {names.length > MOST && ` and ${names.length - MOST} more`}
    </>
  );
}

function Sent({ event: { name, runId }, onClose }: { event: OperationOutput<'events.send'>; onClose(): void }) {
  return (
    <Dialog title={`${name} was sent`} onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      {runId === null ? (
        <p role="status">It waits: those of its name that were sent before it are delivered first.</p>
      ) : (
        <Delivery runId={runId} />
      )}
    </Dialog>
  );
}

/** What the run that delivers an event gives. */
interface Delivered {
  resumed: number;
  started: ({ workflow: string } & (
    | { status: 'started' | 'queued'; runId?: string; triggerId?: string }
    | { status: 'refused'; error: { code: string; message: string } }
  ))[];
}

const ENDED: ReadonlySet<string> = new Set(['failed', 'cancelled']);
const STOPPED = 'It was not delivered to all: open its delivery to see why, and retry it there.';

function toSentence({ resumed, started }: Delivered): string {
  if (resumed === 0 && started.length === 0) return 'No run waited for it, and no workflow starts by it.';
  const runs = resumed === 1 ? '1 run that waited for it went on' : `${resumed} runs that waited for it went on`;
  return started.length === 0 ? `${runs}.` : `${runs}, and by it started:`;
}
