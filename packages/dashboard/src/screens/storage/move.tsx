import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { nameOf } from './keys.ts';

/** Gives an object another key, which is another folder, another name, or both. */
export function Move({ from, onClose }: { from: string; onClose(): void }) {
  const move = useChange('storage.move');
  const [to, setTo] = useState(from);
  const [overwrite, setOverwrite] = useState(false);
  const submit = async () => {
    await move.mutateAsync({ from, to, overwrite });
    toast(`${nameOf(from)} is ${to} now.`);
    onClose();
  };
  return (
    <FormDialog
      title={`Move ${nameOf(from)}`}
      verb="Move"
      incomplete={to === '' || to === from}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="New key" hint="Folders are parts of it: reports/2026/march.csv">
        {(parts) => <Input {...parts} value={to} onChange={({ target }) => setTo(target.value)} />}
      </Field>
      <Checkbox value={overwrite} onChange={setOverwrite}>
        Replace what is there under that key
      </Checkbox>
    </FormDialog>
  );
}
