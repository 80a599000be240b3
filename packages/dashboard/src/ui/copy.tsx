import { useState } from 'react';
import { Button } from './button.tsx';
import { copyText } from './copy-text.ts';
import { toastFailure } from './toast.tsx';

export function Copy({ text, label = 'Copy', what }: { text: string | (() => string); label?: string; what?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await copyText(typeof text === 'function' ? text() : text);
      setDone(true);
      setTimeout(() => setDone(false), 2_000);
    } catch (error) {
      toastFailure(error);
    }
  };
  return (
    <Button small aria-label={what === undefined ? undefined : `Copy ${what}`} onClick={() => void copy()}>
      <span aria-live="polite">{isDone ? 'Copied' : label}</span>
    </Button>
  );
}
