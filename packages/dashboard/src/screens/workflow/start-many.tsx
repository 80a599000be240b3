import { useMemo, useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { newId } from '../../api/new-id.ts';
import { useChange } from '../../api/queries.ts';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { toCount } from '../../ui/count.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Link } from '../../ui/link.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { readLines } from './read-lines.ts';

type Outcome = OperationOutput<'workflows.start_many'>;

/** Starts a workflow with each of many inputs, and says the outcome of each. */
export function StartMany({ name, onClose }: { name: string; onClose(): void }) {
  const start = useChange('workflows.start_many', ['runs', 'workflows']);
  const [text, setText] = useState('');
  const [outcome, setOutcome] = useState<Outcome>();
  // The same list that is sent again after it was lost on its way starts nothing twice.
  const idempotencyKey = useMemo(() => newId(), [text]);
  if (outcome) return <Started name={name} outcome={outcome} onClose={onClose} />;
  const { inputs, problem } = readLines(text);
  const submit = async () =>
    setOutcome(await start.mutateAsync({ name, items: inputs.map((input) => ({ input })), idempotencyKey }));
  return (
    <FormDialog
      title={`Start ${name} many times`}
      verb={inputs.length === 1 ? 'Start 1 run' : `Start ${toCount(inputs.length)} runs`}
      incomplete={inputs.length === 0 || problem !== undefined}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Inputs" hint="The input of a run on each line, as JSON; at most 500" error={problem}>
        {(parts) => (
          <Textarea
            {...parts}
            rows={10}
            placeholder={'{"orderId": "o-1"}\n{"orderId": "o-2"}'}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

// --- internal ---

interface StartedProps {
  name: string;
  outcome: Outcome;
  onClose(): void;
}

function Started({ name, outcome: { started, queued, refused, items }, onClose }: StartedProps) {
  return (
    <Dialog title={`Starts of ${name}`} wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <p role="status" className="mb-2">
        {toCount(started)} started, {toCount(queued)} queued, {toCount(refused)} refused.
      </p>
      <div className="max-h-[50vh] overflow-y-auto">
        <Table label={`Starts of ${name}`} columns={COLUMNS} rows={items} keyOf={({ index }) => String(index)} />
      </div>
    </Dialog>
  );
}

const COLUMNS: readonly Column<Outcome['items'][number]>[] = [
  { title: 'Line', end: true, narrow: true, cell: ({ index }) => index + 1 },
  { title: 'Outcome', cell: ({ status }) => <Status value={status} /> },
  {
    title: 'Run',
    cell: (one) =>
      one.status === 'refused' ? (
        <span className="wrap-anywhere">
          <code className="text-xs">{one.error.code}</code> <bdi>{one.error.message}</bdi>
        </span>
      ) : one.status === 'started' ? (
        <Link to={`/runs/${one.runId}`}>{one.runId.slice(0, 8)}</Link>
      ) : (
        <span className="text-muted">waits in the queue</span>
      ),
  },
];
