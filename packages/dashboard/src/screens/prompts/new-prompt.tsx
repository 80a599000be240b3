import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { useGoOn } from '../../app/search.ts';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { OWNER_KINDS } from './owner.ts';
import type { OwnerKind } from './owner.ts';
import { Refused } from '../../ui/refused.tsx';

/** A prompt with its first version, which is a draft. */
export function NewPrompt({ onClose }: { onClose(): void }) {
  const goOn = useGoOn();
  const names = useCall('discovery.get', {});
  const create = useChange('prompts.create');
  const [ownerKind, setOwnerKind] = useState<OwnerKind>('agent');
  const [ownerName, setOwnerName] = useState('');
  const [key, setKey] = useState('instructions');
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const owners = ownerKind === 'agent' ? names.data?.agents : names.data?.workflows;
  const isOwned = ownerKind === 'workspace' || ownerName !== '';
  const submit = async () => {
    const owner = ownerKind === 'workspace' ? {} : { ownerName };
    const { id } = await create.mutateAsync({ ownerKind, ...owner, key, name, text });
    await goOn(`/prompts/${id}`);
  };
  return (
    <FormDialog
      title="New prompt"
      verb="Create"
      incomplete={!isOwned || key === '' || name.trim() === '' || text.trim() === ''}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Of">
        {(parts) => (
          <Select
            {...parts}
            value={ownerKind}
            onChange={({ target }) => {
              setOwnerKind(target.value as OwnerKind);
              setOwnerName('');
            }}
            options={OWNER_KINDS.map((kind) => [kind, KINDS[kind]] as const)}
          />
        )}
      </Field>
      {ownerKind !== 'workspace' && (
        <Field label="Which one">
          {(parts) => (
            <Select
              {...parts}
              value={ownerName}
              onChange={({ target }) => setOwnerName(target.value)}
              options={[['', 'Choose …'], ...(owners ?? []).map((each) => [each, each] as const)]}
            />
          )}
        </Field>
      )}
      <Refused of={names} what="The names of agents and workflows" />
      <Field label="Key" hint="What code asks for it by; instructions of an agent take the place of those in its code">
        {(parts) => <Input {...parts} value={key} onChange={({ target }) => setKey(target.value)} />}
      </Field>
      <Field label="Name" hint="What people call it">
        {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
      </Field>
      <Field label="Text">
        {(parts) => <Textarea {...parts} rows={6} value={text} onChange={({ target }) => setText(target.value)} />}
      </Field>
    </FormDialog>
  );
}

// --- internal ---

const KINDS: Record<OwnerKind, string> = { agent: 'An agent', workflow: 'A workflow', workspace: 'The workspace' };
