import type { ReactNode } from 'react';

export interface CheckboxProps {
  value: boolean;
  onChange(value: boolean): void;
  /** What is so when it is checked. */
  children: ReactNode;
}

export function Checkbox({ value, onChange, children }: CheckboxProps) {
  return (
    <label className="flex items-center gap-2">
      <input type="checkbox" checked={value} onChange={({ target }) => onChange(target.checked)} />
      {children}
    </label>
  );
}
