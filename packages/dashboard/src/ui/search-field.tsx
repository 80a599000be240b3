import { useEffect, useState } from 'react';
import { Field, Input } from './field.tsx';

export interface SearchFieldProps {
  label: string;
  value: string | undefined;
  onChange(value: string): void;
}

/** A field that narrows a list down, a moment after the last key or at Enter. */
export function SearchField({ label, value = '', onChange }: SearchFieldProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text.trim()), WAIT_MS);
    return () => clearTimeout(timer);
    // Another address, or another function, is no other text.
  }, [text]);
  return (
    <Field label={label} quiet>
      {(parts) => (
        <Input
          {...parts}
          type="search"
          placeholder={label}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={({ key }) => {
            if (key === 'Enter') onChange(text.trim());
          }}
        />
      )}
    </Field>
  );
}

// --- internal ---

const WAIT_MS = 300;
