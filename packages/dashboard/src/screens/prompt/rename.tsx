import { useState } from 'react';
import type { OperationOutput } from '@svc/runtime/client';
import { useChange } from '../../api/queries.ts';
import { Field, Input, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';

export function Rename({ prompt, onClose }: { prompt: OperationOutput<'prompts.get'>; onClose(): void }) {
  const update = useChange('prompts.update');
  const [name, setName] = useState(prompt.name);
  const [note, setNote] = useState(prompt.note ?? '');
  return (
    <FormDialog
      title="Rename the prompt"
      verb="Save"
      incomplete={name.trim() === ''}
      onClose={onClose}
      onSubmit={async () => {
        await update.mutateAsync({ id: prompt.id, name, note: note === '' ? null : note });
        onClose();
      }}
    >
      <Field label="Name">
        {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
      </Field>
      <Field label="Note">
        {(parts) => <Textarea {...parts} rows={3} value={note} onChange={({ target }) => setNote(target.value)} />}
      </Field>
    </FormDialog>
  );
}
