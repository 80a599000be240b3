import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input, Select } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { CheckFields } from './check-fields.tsx';
import { Choices } from './choices.tsx';
import { isIncomplete, toDraft, toNewRule } from './draft.ts';
import type { RuleDraft } from './draft.ts';
import { ACTIONS, SIDES } from './rule.ts';
import type { Action, Rule, Side } from './rule.ts';
import { Refused } from '../../ui/refused.tsx';

/** Makes a rule, or changes one. */
export function RuleForm({ rule, onClose }: { rule?: Rule; onClose(): void }) {
  const [draft, setDraft] = useState(() => toDraft(rule));
  const create = useChange('guardrails.create');
  const update = useChange('guardrails.update');
  const change = (some: Partial<RuleDraft>) => setDraft((before) => ({ ...before, ...some }));
  const submit = async () => {
    const made = toNewRule(draft);
    await (rule ? update.mutateAsync({ id: rule.id, ...made }) : create.mutateAsync(made));
    toast(rule ? `${made.name} is changed.` : `${made.name} is in force.`);
    onClose();
  };
  return (
    <FormDialog
      title={rule ? `Change “${rule.name}”` : 'New rule'}
      verb={rule ? 'Save' : 'Create'}
      incomplete={isIncomplete(draft)}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Name" hint="What a refusal and a hit call it by">
        {(parts) => <Input {...parts} value={draft.name} onChange={({ target }) => change({ name: target.value })} />}
      </Field>
      <CheckFields check={draft.check} onChange={(some) => change({ check: { ...draft.check, ...some } })} />
      <Choices
        title="Where it judges"
        options={SIDES}
        value={draft.sides}
        onChange={(sides) => change({ sides: sides as Side[] })}
      />
      <Field label="What is done about a hit">
        {(parts) => (
          <Select
            {...parts}
            options={ACTIONS}
            value={draft.action}
            onChange={({ target }) => change({ action: target.value as Action })}
          />
        )}
      </Field>
      <Attached value={draft.attachment} onChange={(attachment) => change({ attachment })} />
      <Field label="Note">
        {(parts) => <Input {...parts} value={draft.note} onChange={({ target }) => change({ note: target.value })} />}
      </Field>
      <Checkbox value={draft.failClosed} onChange={(isOn) => change({ failClosed: isOn })}>
        Block what it cannot check
      </Checkbox>
      <Checkbox value={draft.enabled} onChange={(isOn) => change({ enabled: isOn })}>
        In force
      </Checkbox>
    </FormDialog>
  );
}

// --- internal ---

type Attachment = RuleDraft['attachment'];

const SCOPES = [
  ['workspace', 'Everything'],
  ['agent', 'Agents'],
  ['workflow', 'Workflows'],
] as const;

function Attached({ value: { kind, name = '' }, onChange }: { value: Attachment; onChange(value: Attachment): void }) {
  const names = useCall('discovery.get', {});
  const known = (kind === 'agent' ? names.data?.agents : names.data?.workflows) ?? [];
  // One that is gone is shown as what it is attached to all the same.
  const all = name === '' || known.includes(name) ? known : [...known, name];
  return (
    <>
      <Field label="Whose texts">
        {(parts) => (
          <Select
            {...parts}
            options={SCOPES}
            value={kind}
            onChange={({ target }) => onChange({ kind: target.value as Attachment['kind'], name: '' })}
          />
        )}
      </Field>
      {kind !== 'workspace' && (
        <Field label={kind === 'agent' ? 'Agent' : 'Workflow'}>
          {(parts) => (
            <Select
              {...parts}
              options={[['', `All ${kind}s`], ...all.map((each) => [each, each] as const)]}
              value={name}
              onChange={({ target }) => onChange({ kind, name: target.value })}
            />
          )}
        </Field>
      )}
      <Refused of={names} what="The names of agents and workflows" />
    </>
  );
}
