import { useId } from 'react';
import type { ReactNode } from 'react';
import { useCall } from '../api/queries.ts';
import { Field, Input } from './field.tsx';

export interface ModelFieldProps {
  label: string;
  hint?: ReactNode;
  value: string;
  onChange(value: string): void;
}

/** The id of a model, with those the provider lists to choose from. */
export function ModelField({ label, hint, value, onChange }: ModelFieldProps) {
  const list = useId();
  // Without a provider, or with one that has no list, it is typed.
  const models = useCall('models.list', { limit: 200 });
  return (
    <Field label={label} hint={hint}>
      {(parts) => (
        <>
          <Input {...parts} list={list} value={value} onChange={({ target }) => onChange(target.value)} />
          <datalist id={list}>
            {(models.data?.items ?? []).map(({ id }) => (
              <option key={id} value={id} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
