import type { OperationInput } from '@svc/runtime/client';
import { Field, Input } from '../../ui/field.tsx';

const OPTIONS = [
  { name: 'delay', label: 'Begin later', hint: 'So long from now: 10m, 2 days' },
  { name: 'at', label: 'Begin at', hint: '2030-01-31T09:00:00Z' },
  { name: 'timeout', label: 'May take', hint: 'As long as this: 30m' },
  { name: 'priority', label: 'Priority', hint: 'Among those that wait: -1000 to 1000' },
  { name: 'id', label: 'Id', hint: 'At most one unfinished run of the workflow has it' },
] as const;

/** How a workflow is started, beyond its input. */
export function StartOptions({
  value,
  onChange,
}: {
  value: Record<string, string>;
  onChange(value: Record<string, string>): void;
}) {
  return (
    <details>
      <summary className="text-muted">When and how</summary>
      <div className="mt-2 grid gap-3 sm:grid-cols-2">
        {OPTIONS.map(({ name, label, hint }) => (
          <Field key={name} label={label} hint={hint}>
            {(parts) => (
              <Input
                {...parts}
                value={value[name] ?? ''}
                onChange={({ target }) => onChange({ ...value, [name]: target.value })}
              />
            )}
          </Field>
        ))}
      </div>
    </details>
  );
}

export function toStartInput(value: Record<string, string>): Partial<OperationInput<'workflows.start'>> {
  return Object.fromEntries(Object.entries(value).filter(([, text]) => text.trim() !== ''));
}
