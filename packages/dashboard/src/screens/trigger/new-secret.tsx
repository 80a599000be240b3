import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { Field, SecretInput } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import type { Trigger } from '../triggers/trigger-state.tsx';

/** Writes the secret of a trigger, or another one. What is there is never shown. */
export function NewSecret({ trigger: { id, name, secrets }, onClose }: { trigger: Trigger; onClose(): void }) {
  const update = useChange('triggers.update');
  const [secret, setSecret] = useState('');
  const submit = async () => {
    await update.mutateAsync({ id, secret });
    setSecret('');
    toast(secrets === 0 ? `${name} has a secret.` : `${name} has another secret.`);
    onClose();
  };
  return (
    <FormDialog
      title={secrets === 0 ? `Set the secret of “${name}”` : `Rotate the secret of “${name}”`}
      verb={secrets === 0 ? 'Set' : 'Rotate'}
      incomplete={secret === ''}
      onSubmit={submit}
      onClose={onClose}
    >
      {secrets > 0 && (
        <p className="text-muted">
          The previous one stays valid beside it until you drop it: change the service meanwhile.
        </p>
      )}
      <Field label="Secret" hint="At least 8 characters. Never shown once it is set">
        {(parts) => <SecretInput {...parts} value={secret} onChange={({ target }) => setSecret(target.value)} />}
      </Field>
    </FormDialog>
  );
}
