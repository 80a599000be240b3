import { useId } from 'react';
import type { ComponentProps, ReactNode } from 'react';

const BOX =
  'w-full rounded border border-line bg-panel px-2.5 py-1.5 placeholder:text-muted aria-[invalid=true]:border-bad disabled:opacity-60';

interface Parts {
  id: string;
  'aria-describedby'?: string;
  'aria-invalid'?: true;
}

export interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** What is wrong with what was given. */
  error?: ReactNode;
  /** The label is there for those who do not see it alone. */
  quiet?: boolean;
  children(parts: Parts): ReactNode;
}

/** A label, what it asks for, and what is wrong with the answer: `{(parts) => <Input {...parts} />}`. */
export function Field({ label, hint, error, quiet, children }: FieldProps) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div className="min-w-0">
      <label htmlFor={id} className={quiet ? 'sr-only' : 'mb-1 block font-medium'}>
        {label}
      </label>
      {children({
        id,
        ...(note ? { 'aria-describedby': `${id}-note` } : {}),
        ...(error ? { 'aria-invalid': true as const } : {}),
      })}
      {note && (
        <p id={`${id}-note`} className={`mt-1 text-xs wrap-anywhere ${error ? 'text-bad' : 'text-muted'}`}>
          {note}
        </p>
      )}
    </div>
  );
}

export function Input({ className = '', ...rest }: ComponentProps<'input'>) {
  return <input autoComplete="off" spellCheck={false} {...rest} className={`${BOX} ${className}`} />;
}

/** Of something secret: of a service, and no password of this page. */
export function SecretInput(props: Omit<ComponentProps<'input'>, 'type' | 'autoComplete'>) {
  return <Input {...props} type="password" autoComplete="new-password" />;
}

export function Textarea({ className = '', ...rest }: ComponentProps<'textarea'>) {
  return <textarea spellCheck={false} {...rest} className={`${BOX} font-mono ${className}`} />;
}

/** The browser's own, which every keyboard, reader and phone knows. */
export function Select({
  options,
  className = '',
  ...rest
}: ComponentProps<'select'> & { options: readonly (readonly [value: string, label: string])[] }) {
  return (
    <select {...rest} className={`${BOX} ${className}`}>
      {options.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
