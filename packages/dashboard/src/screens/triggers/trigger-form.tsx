import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { useGoOn } from '../../app/search.ts';
import { Field, Input, SecretInput, Select } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { isIncomplete, toDraft, toSettings } from './draft.ts';
import type { Draft } from './draft.ts';
import { FilterFields, MappingFields } from './mapping-fields.tsx';
import { PollFields } from './poll-fields.tsx';
import { SignatureFields } from './signature-fields.tsx';
import { TargetFields } from './target-fields.tsx';
import { SCHEMES } from './trigger-state.tsx';
import type { Scheme, Trigger } from './trigger-state.tsx';

/** Makes a trigger, or changes one. A secret is written, and never shown. */
export function TriggerForm({ trigger, onClose }: { trigger?: Trigger; onClose(): void }) {
  const goOn = useGoOn();
  const create = useChange('triggers.create');
  const update = useChange('triggers.update');
  const [draft, setDraft] = useState(() => toDraft(trigger));
  const [secret, setSecret] = useState('');
  const change = (some: Partial<Draft>) => setDraft((before) => ({ ...before, ...some }));
  const submit = async () => {
    const settings = toSettings(draft);
    if (trigger) {
      await update.mutateAsync({ id: trigger.id, ...settings });
      toast(`${settings.name} is changed.`);
      return onClose();
    }
    const { id } = await create.mutateAsync({
      ...settings,
      ...(secret === '' || draft.comes === 'poll' ? {} : { secret }),
    });
    setSecret('');
    await goOn(`/triggers/${id}`);
  };
  return (
    <FormDialog
      title={trigger ? `Change “${trigger.name}”` : 'New trigger'}
      verb={trigger ? 'Save' : 'Create'}
      incomplete={isIncomplete(draft)}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Name" hint="What people call it">
        {(parts) => <Input {...parts} value={draft.name} onChange={({ target }) => change({ name: target.value })} />}
      </Field>
      <TargetFields draft={draft} onChange={change} />
      {!trigger && <ComesField draft={draft} onChange={change} />}
      {draft.comes === 'poll' ? (
        <PollFields draft={draft} onChange={change} />
      ) : (
        <SenderFields draft={draft} onChange={change} />
      )}
      {!trigger && draft.comes === 'webhook' && <SecretField secret={secret} onChange={setSecret} />}
      <FilterFields draft={draft} onChange={change} />
      <MappingFields draft={draft} onChange={change} />
    </FormDialog>
  );
}

export interface DraftProps {
  draft: Draft;
  onChange(change: Partial<Draft>): void;
}

// --- internal ---

/** What it is stays what it is. */
function ComesField({ draft: { comes }, onChange }: DraftProps) {
  return (
    <Field label="How it comes">
      {(parts) => (
        <Select
          {...parts}
          value={comes}
          onChange={({ target }) => onChange({ comes: target.value as Draft['comes'] })}
          options={[
            ['webhook', 'A service calls the box'],
            ['poll', 'The box asks a service what is new'],
          ]}
        />
      )}
    </Field>
  );
}

function SenderFields({ draft, onChange }: DraftProps) {
  return (
    <>
      <Field label="Who calls">
        {(parts) => (
          <Select
            {...parts}
            value={draft.scheme}
            onChange={({ target }) => onChange({ scheme: target.value as Scheme })}
            options={SCHEMES}
          />
        )}
      </Field>
      <SignatureFields draft={draft} onChange={onChange} />
    </>
  );
}

function SecretField({ secret, onChange }: { secret: string; onChange(secret: string): void }) {
  return (
    <Field
      label="Secret"
      hint="At least 8 characters, the same as at the service. Deliveries are refused before it is set"
    >
      {(parts) => <SecretInput {...parts} value={secret} onChange={({ target }) => onChange(target.value)} />}
    </Field>
  );
}
