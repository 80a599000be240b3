import { useEffect, useState } from 'react';
import type { ComponentProps } from 'react';
import { Textarea } from './field.tsx';

/** Of a secret that may have several lines, such as a key in PEM: no one who looks at the screen reads it. */
export function SecretArea({ className = '', ...rest }: Omit<ComponentProps<typeof Textarea>, 'autoComplete'>) {
  return <Textarea {...rest} autoComplete="off" className={`[-webkit-text-security:disc] ${className}`} />;
}

/**
 * A secret as it is typed: forgotten when the person goes to another window or tab, where no one watches this one. `wasLeft`: it
 * was, and has not been typed again.
 */
export function useTypedSecret(): { value: string; write(value: string): void; wasLeft: boolean } {
  const [{ value, wasLeft }, set] = useState({ value: '', wasLeft: false });
  useEffect(() => {
    const forget = (): void => set((before) => (before.value === '' ? before : { value: '', wasLeft: true }));
    addEventListener('blur', forget);
    return () => removeEventListener('blur', forget);
  }, []);
  return { value, write: (next) => set({ value: next, wasLeft: false }), wasLeft };
}

/** What is said below the field. */
export function describeSecret(hint: string, wasLeft: boolean): string {
  return wasLeft ? 'You have left this window, so what you had typed is forgotten.' : hint;
}
