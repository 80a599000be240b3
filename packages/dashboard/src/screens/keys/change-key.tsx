import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { Field, Input } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { readTyped, toTyped } from './draft.ts';
import type { ApiKey } from './draft.ts';
import { Granted, toNames } from './granted.tsx';
import type { Grant } from './granted.tsx';
import { UseFields } from './use-fields.tsx';
import { Refused } from '../../ui/refused.tsx';

/** What a key is called, may call, may use, and from where. What it is a key of stays as it was made. */
export function ChangeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const names = useCall('discovery.get', {});
  const update = useChange('keys.update', ['keys', 'usage']);
  const [name, setName] = useState(apiKey.name);
  const [agents, setAgents] = useState<Grant>(apiKey.grants.agents);
  const [workflows, setWorkflows] = useState<Grant>(apiKey.grants.workflows);
  const [use, setUse] = useState(() => toTyped(apiKey));
  const submit = async () => {
    const grants = { agents: toNames(agents), workflows: toNames(workflows) };
    await update.mutateAsync({ id: apiKey.id, name, grants, ...readTyped(use) });
    toast(`${name} is changed.`);
    onClose();
  };
  return (
    <FormDialog
      title={`Change “${apiKey.name}”`}
      verb="Change the key"
      incomplete={name.trim() === ''}
      onSubmit={submit}
      onClose={onClose}
    >
      <p className="text-muted">It is in force with the next request. The value of the key stays the same.</p>
      <Field label="Name">
        {(parts) => <Input {...parts} maxLength={100} value={name} onChange={({ target }) => setName(target.value)} />}
      </Field>
      <Refused of={names} what="The names of agents and workflows" />
      <Granted title="Agents" names={names.data?.agents ?? []} value={agents} onChange={setAgents} />
      <Granted title="Workflows" names={names.data?.workflows ?? []} value={workflows} onChange={setWorkflows} />
      <UseFields value={use} onChange={setUse} error={update.error} hasUsers={apiKey.users} />
    </FormDialog>
  );
}
