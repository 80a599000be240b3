import { useCall } from '../../api/queries.ts';
import { Field, Select } from '../../ui/field.tsx';
import type { Draft } from './draft.ts';
import type { DraftProps } from './trigger-form.tsx';
import { Refused } from '../../ui/refused.tsx';

/** What a delivery starts. */
export function TargetFields({ draft: { kind, target: chosen }, onChange }: DraftProps) {
  const names = useCall('discovery.get', {});
  const known = (kind === 'agent' ? names.data?.agents : names.data?.workflows) ?? [];
  // One that is gone is shown as what it starts all the same.
  const all = chosen === '' || known.includes(chosen) ? known : [...known, chosen];
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label="It starts">
        {(parts) => (
          <Select
            {...parts}
            value={kind}
            onChange={({ target }) => onChange({ kind: target.value as Draft['kind'], target: '' })}
            options={[
              ['workflow', 'A workflow'],
              ['agent', 'A turn of an agent'],
            ]}
          />
        )}
      </Field>
      <Field label="Which one">
        {(parts) => (
          <Select
            {...parts}
            value={chosen}
            onChange={({ target }) => onChange({ target: target.value })}
            options={[['', 'Choose …'], ...all.map((each) => [each, each] as const)]}
          />
        )}
      </Field>
      <Refused of={names} what="The names of agents and workflows" />
    </div>
  );
}
