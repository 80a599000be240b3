import { Field, Input } from './field.tsx';

export interface TimeFieldProps {
  label: string;
  /** As the address and the box have it. */
  value: string | undefined;
  /** Undefined: none. */
  onChange(value: string | undefined): void;
}

/** A point in time, as the clock of the person has it. */
export function TimeField({ label, value, onChange }: TimeFieldProps) {
  return (
    <Field label={label}>
      {(parts) => (
        <Input
          {...parts}
          type="datetime-local"
          value={toLocal(value)}
          onChange={({ target }) => onChange(target.value === '' ? undefined : new Date(target.value).toISOString())}
        />
      )}
    </Field>
  );
}

/** Undefined: it is none. */
export function readTime(value: string | undefined): string | undefined {
  const at = Date.parse(value ?? '');
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

// --- internal ---

/** `2026-11-27T18:30`, as the field wants it. */
function toLocal(value: string | undefined): string {
  const at = Date.parse(value ?? '');
  if (Number.isNaN(at)) return '';
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
