import { useState } from 'react';
import { useCall, useChange, useList } from '../../api/queries.ts';
import { useGoOn } from '../../app/search.ts';
import { Checkbox } from '../../ui/checkbox.tsx';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ModelField } from '../../ui/model-field.tsx';
import { More } from '../../ui/more.tsx';
import { toast } from '../../ui/toast.tsx';
import { ScorersField } from './scorers-field.tsx';
import { isIncomplete, toSuite, toSuiteDraft } from './suite-draft.ts';
import type { Suite, SuiteDraft } from './suite-draft.ts';
import { Refused } from '../../ui/refused.tsx';

/** Makes a suite, or changes one; its page is where it ends. */
export function SuiteForm({ suite, onClose }: { suite?: Suite; onClose(): void }) {
  const names = useCall('discovery.get', {});
  const goOn = useGoOn();
  const [draft, setDraft] = useState(() => toSuiteDraft(suite));
  const create = useChange('evals.suites.create');
  const update = useChange('evals.suites.update');
  const change = (some: Partial<SuiteDraft>) => setDraft((before) => ({ ...before, ...some }));
  const submit = async () => {
    const given = toSuite(draft);
    const made = await (suite ? update.mutateAsync({ id: suite.id, ...given }) : create.mutateAsync(given));
    toast(suite ? 'The suite is changed.' : 'The suite is made.');
    if (made.name === suite?.name) onClose();
    else await goOn(`/evals/suites/${made.name}`);
  };
  const text = (member: TextMember, label: string, hint?: string) => (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(parts) => (
        <Input {...parts} value={draft[member]} onChange={({ target }) => change({ [member]: target.value })} />
      )}
    </Field>
  );
  return (
    <FormDialog
      title={suite ? `Change ${suite.name}` : 'New suite'}
      verb={suite ? 'Save' : 'Create'}
      incomplete={isIncomplete(draft)}
      onSubmit={submit}
      onClose={onClose}
    >
      {text('name', 'Name', 'What svc eval launches it by: small letters, digits and "-"')}
      <CaseChoices value={draft.cases} onChange={(cases) => change({ cases })} />
      {text('tags', 'Tags', 'Cases with one of them are in it as well. As in: smoke, refunds')}
      <ScorersField
        hint="Asked of every case, as JSON"
        value={draft.scorers}
        onChange={(scorers) => change({ scorers })}
      />
      <Field label="Gates" hint="What a run has to reach to pass, as JSON">
        {(parts) => (
          <Textarea
            {...parts}
            rows={4}
            value={draft.gates}
            onChange={({ target }) => change({ gates: target.value })}
          />
        )}
      </Field>
      <div className="grid grid-cols-3 gap-3">
        {text('samples', 'Samples')}
        {text('concurrency', 'At once')}
        {text('timeout', 'Seconds')}
      </div>
      <ModelField
        label="Model"
        hint="In place of that of agents"
        value={draft.model}
        onChange={(model) => change({ model })}
      />
      <div className="grid grid-cols-2 gap-3">
        <Field label="Live turns of">
          {(parts) => (
            <Select
              {...parts}
              options={[['', 'None'], ...(names.data?.agents ?? []).map((each) => [each, each] as const)]}
              value={draft.online}
              onChange={({ target }) => change({ online: target.value })}
            />
          )}
        </Field>
        {draft.online !== '' && text('share', 'Share', 'Percent')}
      </div>
      <Refused of={names} what="The names of agents and workflows" />
      {text('note', 'Note')}
    </FormDialog>
  );
}

// --- internal ---

type TextMember = Exclude<keyof SuiteDraft, 'cases'>;

/** Some of all cases, in the order in which they are chosen. */
function CaseChoices({ value, onChange }: { value: readonly string[]; onChange(value: string[]): void }) {
  const cases = useList('evals.cases.list', {});
  const toggle = (id: string, isOn: boolean) => onChange(isOn ? [...value, id] : value.filter((each) => each !== id));
  return (
    <fieldset className="rounded border border-line p-3">
      <legend className="px-1 font-medium">Cases</legend>
      <div className="flex max-h-48 flex-col gap-1 overflow-y-auto" tabIndex={0} role="group" aria-label="All cases">
        <Refused of={cases} what="The cases" />
        {cases.items?.length === 0 && (
          <p className="text-xs text-muted">There is no case yet: make one under Cases first, or give a tag.</p>
        )}
        {(cases.items ?? []).map(({ id, name, target }) => (
          <Checkbox key={id} value={value.includes(id)} onChange={(isOn) => toggle(id, isOn)}>
            <span className="min-w-0 wrap-anywhere">
              <bdi>{name}</bdi>{' '}
              <span className="text-xs text-muted">
                {target.kind} <bdi>{target.name}</bdi>
              </span>
            </span>
          </Checkbox>
        ))}
      </div>
      <More has={cases.hasNextPage} busy={cases.isFetchingNextPage} onMore={() => void cases.fetchNextPage()} />
    </fieldset>
  );
}
