import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input, Select } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { TimeField } from '../../ui/time-field.tsx';
import { readTyped, toTyped } from './draft.ts';
import { Granted, toNames } from './granted.tsx';
import type { Grant } from './granted.tsx';
import type { KeyValue } from './shown-once.tsx';
import { UseFields } from './use-fields.tsx';
import { Refused } from '../../ui/refused.tsx';

export interface NewKeyProps {
  /** The one it is for; it can be another. */
  agent?: string | undefined;
  onMade(value: KeyValue): void;
  onClose(): void;
}

export function NewKey({ agent, onMade, onClose }: NewKeyProps) {
  const names = useCall('discovery.get', {});
  const create = useChange('keys.create');
  const [name, setName] = useState('');
  const [agents, setAgents] = useState<Grant>(agent === undefined ? NONE : [agent]);
  const [workflows, setWorkflows] = useState(NONE);
  const [days, setDays] = useState('');
  const [until, setUntil] = useState<string>();
  const [isForUsers, setForUsers] = useState(false);
  const [use, setUse] = useState(() => toTyped());
  const [client, setClient] = useState('');
  const [sessions, setSessions] = useState<'own' | 'agent'>('own');
  const submit = async () => {
    const made = await create.mutateAsync({
      name,
      grants: { agents: toNames(agents), workflows: toNames(workflows) },
      users: isForUsers,
      ...readTyped(use),
      ...(client.trim() === '' ? {} : { client }),
      sessions,
      ...toExpiry(days, until),
    });
    onClose();
    onMade(made);
  };
  const isIncomplete = name.trim() === '' || (days === 'at' && until === undefined);
  return (
    <FormDialog title="New key" verb="Make the key" incomplete={isIncomplete} onSubmit={submit} onClose={onClose}>
      <Field label="Name" hint="What people call it: the program that uses it">
        {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
      </Field>
      <Refused of={names} what="The names of agents and workflows" />
      <Granted title="Agents" names={names.data?.agents ?? []} value={agents} onChange={setAgents} />
      <Granted title="Workflows" names={names.data?.workflows ?? []} value={workflows} onChange={setWorkflows} />
      <Field label="Expires">
        {(parts) => (
          <Select {...parts} value={days} onChange={({ target }) => setDays(target.value)} options={EXPIRIES} />
        )}
      </Field>
      {days === 'at' && <TimeField label="Good until" value={until} onChange={setUntil} />}
      <Checkbox value={isForUsers} onChange={setForUsers}>
        It speaks for users of its own
      </Checkbox>
      <details className="rounded border border-line p-3">
        <summary className="font-medium">Limits, addresses, client</summary>
        <div className="mt-3 flex flex-col gap-3">
          <UseFields value={use} onChange={setUse} error={create.error} hasUsers={isForUsers} />
          <Field label="Client" hint="Keys of the same one own the same sessions and runs. Empty: the key by itself">
            {(parts) => (
              <Input {...parts} maxLength={100} value={client} onChange={({ target }) => setClient(target.value)} />
            )}
          </Field>
          <Field label="Sessions it goes on with">
            {(parts) => (
              <Select
                {...parts}
                value={sessions}
                onChange={({ target }) => setSessions(target.value as 'own')}
                options={[
                  ['own', 'Those of its client'],
                  ['agent', 'All of its agents'],
                ]}
              />
            )}
          </Field>
        </div>
      </details>
    </FormDialog>
  );
}

// --- internal ---

const NONE: Grant = [];
const EXPIRIES = [
  ['', 'As the settings say'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['at', 'At a day of its own'],
  ['never', 'Never'],
] as const;

function toExpiry(days: string, until: string | undefined): { expiresAt?: string | null } {
  if (days === '') return {};
  if (days === 'never') return { expiresAt: null };
  if (days === 'at') return until === undefined ? {} : { expiresAt: until };
  return { expiresAt: new Date(Date.now() + Number(days) * 86_400_000).toISOString() };
}
