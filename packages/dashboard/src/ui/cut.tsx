import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { toCount } from './count.ts';

/** Characters that one more press shows: a page stays quick with them. */
const STEP = 100_000;

/** The beginning of a text, and more of it each time a person asks. */
export function Cut({ text, first, children }: { text: string; first: number; children(shown: string): ReactNode }) {
  const [most, setMost] = useState(first);
  const left = text.length - most;
  return (
    <>
      {children(left > 0 ? `${text.slice(0, most)}…` : text)}
      {left > 0 && (
        <Button small className="mt-1" onClick={() => setMost(most + STEP)}>
          Show more ({toCount(left)} characters are left)
        </Button>
      )}
    </>
  );
}
