import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input, Select } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import type { KeyValue } from './shown-once.tsx';

type Grant = 'all' | readonly string[];

const NONE: Grant = [];

export function NewKey({ onMade, onClose }: { onMade(value: KeyValue): void; onClose(): void }) {
  const names = useCall('discovery.get', {});
  const create = useChange('keys.create');
  const [name, setName] = useState('');
  const [agents, setAgents] = useState(NONE);
  const [workflows, setWorkflows] = useState(NONE);
  const [days, setDays] = useState('');
  const [isForUsers, setForUsers] = useState(false);
  const submit = async () => {
    const made = await create.mutateAsync({
      name,
      grants: { agents: toNames(agents), workflows: toNames(workflows) },
      users: isForUsers,
      ...(days === '' ? {} : { expiresAt: days === 'never' ? null : inDays(Number(days)) }),
    });
    onClose();
    onMade(made);
  };
  return (
    <FormDialog title="New key" verb="Make the key" incomplete={name.trim() === ''} onSubmit={submit} onClose={onClose}>
      <Field label="Name" hint="What people call it: the program that uses it">
        {(parts) => <Input {...parts} value={name} onChange={({ target }) => setName(target.value)} />}
      </Field>
      <Granted title="Agents" names={names.data?.agents ?? []} value={agents} onChange={setAgents} />
      <Granted title="Workflows" names={names.data?.workflows ?? []} value={workflows} onChange={setWorkflows} />
      <Field label="Expires">
        {(parts) => (
          <Select
            {...parts}
            value={days}
            onChange={({ target }) => setDays(target.value)}
            options={[
              ['', 'As the settings say'],
              ['30', 'In 30 days'],
              ['90', 'In 90 days'],
              ['365', 'In a year'],
              ['never', 'Never'],
            ]}
          />
        )}
      </Field>
      <Checkbox value={isForUsers} onChange={setForUsers}>
        It speaks for users of its own
      </Checkbox>
    </FormDialog>
  );
}

// --- internal ---

interface GrantedProps {
  title: string;
  names: readonly string[];
  value: Grant;
  onChange(value: Grant): void;
}

function Granted({ title, names, value, onChange }: GrantedProps) {
  const isAll = value === 'all';
  return (
    <fieldset className="rounded border border-line p-3">
      <legend className="px-1 font-medium">{title}</legend>
      <div className="flex max-h-40 flex-col gap-1 overflow-y-auto">
        <Checkbox value={isAll} onChange={(isOn) => onChange(isOn ? 'all' : NONE)}>
          All there are and will be
        </Checkbox>
        {!isAll &&
          names.map((name) => (
            <Checkbox
              key={name}
              value={value.includes(name)}
              onChange={(isOn) => onChange(isOn ? [...value, name] : value.filter((each) => each !== name))}
            >
              <bdi>{name}</bdi>
            </Checkbox>
          ))}
      </div>
    </fieldset>
  );
}

function toNames(grant: Grant): 'all' | string[] {
  return grant === 'all' ? 'all' : [...grant];
}

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
