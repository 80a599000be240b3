import { useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useChange } from '../../api/queries.ts';
import { useGoOn } from '../../app/search.ts';
import { Field, Input } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ModelField } from '../../ui/model-field.tsx';
import { toast } from '../../ui/toast.tsx';

export interface LaunchProps {
  suite: OperationOutput<'evals.suites.get'>;
  onClose(): void;
}

/** Asks all cases of a suite, which is said to cost something; what comes of it is followed on the page of the run. */
export function Launch({ suite, onClose }: LaunchProps) {
  const goOn = useGoOn();
  const launch = useChange('evals.suites.run');
  const [samples, setSamples] = useState(String(suite.samples));
  const [model, setModel] = useState('');
  const [note, setNote] = useState('');
  const count = Number(samples);
  const isCount = Number.isInteger(count) && count >= 1 && count <= 20;
  const submit = async () => {
    const run = await launch.mutateAsync({
      id: suite.id,
      samples: count,
      ...(model === '' ? {} : { model }),
      ...(note === '' ? {} : { note }),
    });
    toast('It is launched.');
    await goOn(`/evals/runs/${run.id}`);
  };
  return (
    <FormDialog title={`Launch ${suite.name}`} verb="Launch" incomplete={!isCount} onSubmit={submit} onClose={onClose}>
      <p className="text-muted">Every case is run, and models are asked: it counts for the budgets of the agents.</p>
      <Field label="Samples" hint="How often each case is run" error={isCount ? undefined : 'A number from 1 to 20.'}>
        {(parts) => (
          <Input {...parts} inputMode="numeric" value={samples} onChange={({ target }) => setSamples(target.value)} />
        )}
      </Field>
      <ModelField
        label="Model"
        hint={suite.model === null ? 'In place of the model of agents' : `In place of ${suite.model}`}
        value={model}
        onChange={setModel}
      />
      <Field label="Note" hint="What this run is to show">
        {(parts) => <Input {...parts} value={note} onChange={({ target }) => setNote(target.value)} />}
      </Field>
    </FormDialog>
  );
}
