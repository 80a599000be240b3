import { useState } from 'react';
import { useCall, useChange } from '../../api/queries.ts';
import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { toast } from '../../ui/toast.tsx';
import { isIncomplete, toCase, toCaseDraft } from './case-draft.ts';
import type { Case, CaseDraft } from './case-draft.ts';
import { ScorersField } from './scorers-field.tsx';
import { Refused } from '../../ui/refused.tsx';

/** Makes a case, or changes one. */
export function CaseForm({ of, onClose }: { of?: Case | undefined; onClose(): void }) {
  const names = useCall('discovery.get', {});
  const [draft, setDraft] = useState(() => toCaseDraft(of));
  const create = useChange('evals.cases.create');
  const update = useChange('evals.cases.update');
  const change = (some: Partial<CaseDraft>) => setDraft((before) => ({ ...before, ...some }));
  const submit = async () => {
    const given = toCase(draft);
    await (of ? update.mutateAsync({ id: of.id, ...given }) : create.mutateAsync(given));
    toast(of ? 'The case is changed.' : 'The case is made.');
    onClose();
  };
  const known = (draft.kind === 'agent' ? names.data?.agents : names.data?.workflows) ?? [];
  // One that is gone is shown as what it is about all the same.
  const all = draft.target === '' || known.includes(draft.target) ? known : [...known, draft.target];
  const isMessage = draft.kind === 'agent' && !draft.isInputJson;
  return (
    <FormDialog
      title={of ? `Change “${of.name}”` : 'New case'}
      verb={of ? 'Save' : 'Create'}
      incomplete={isIncomplete(draft)}
      onSubmit={submit}
      onClose={onClose}
    >
      <Field label="Name">
        {(parts) => <Input {...parts} value={draft.name} onChange={({ target }) => change({ name: target.value })} />}
      </Field>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label="Asks">
          {(parts) => (
            <Select
              {...parts}
              options={KINDS}
              value={draft.kind}
              onChange={({ target }) => change({ kind: target.value as CaseDraft['kind'], target: '' })}
            />
          )}
        </Field>
        <Field label={draft.kind === 'agent' ? 'Agent' : 'Workflow'}>
          {(parts) => (
            <Select
              {...parts}
              options={[['', 'Choose …'], ...all.map((each) => [each, each] as const)]}
              value={draft.target}
              onChange={({ target }) => change({ target: target.value })}
            />
          )}
        </Field>
      </div>
      <Refused of={names} what="The names of agents and workflows" />
      <Field
        label={isMessage ? 'Message' : 'Input'}
        hint={isMessage ? 'What the user says' : draft.kind === 'agent' ? '{"message", "before"} as JSON' : 'JSON'}
      >
        {(parts) => (
          <Textarea
            {...parts}
            rows={4}
            value={draft.input}
            onChange={({ target }) => change({ input: target.value })}
          />
        )}
      </Field>
      {draft.kind === 'agent' && (
        <Checkbox value={draft.isInputJson} onChange={(isInputJson) => change({ isInputJson })}>
          As JSON, with the messages before it
        </Checkbox>
      )}
      <Field label="Is expected">
        {(parts) => (
          <Select
            {...parts}
            // What is expected once is replaced, and not taken away.
            options={of?.expected === undefined ? EXPECTED : EXPECTED.slice(1)}
            value={draft.expectedAs}
            onChange={({ target }) => change({ expectedAs: target.value as CaseDraft['expectedAs'] })}
          />
        )}
      </Field>
      {draft.expectedAs !== 'nothing' && (
        <Field label="Expectation">
          {(parts) => (
            <Textarea
              {...parts}
              rows={3}
              value={draft.expected}
              onChange={({ target }) => change({ expected: target.value })}
            />
          )}
        </Field>
      )}
      <ScorersField
        hint="Besides those of its suites, as JSON"
        value={draft.scorers}
        onChange={(scorers) => change({ scorers })}
      />
      <Field label="Tags" hint="Suites with one of them have this case. As in: smoke, refunds">
        {(parts) => <Input {...parts} value={draft.tags} onChange={({ target }) => change({ tags: target.value })} />}
      </Field>
      <Field label="Note">
        {(parts) => <Input {...parts} value={draft.note} onChange={({ target }) => change({ note: target.value })} />}
      </Field>
    </FormDialog>
  );
}

// --- internal ---

const KINDS = [
  ['agent', 'An agent'],
  ['workflow', 'A workflow'],
] as const;

const EXPECTED = [
  ['nothing', 'Nothing: its scorers know'],
  ['text', 'A text'],
  ['json', 'A value, as JSON'],
] as const;
