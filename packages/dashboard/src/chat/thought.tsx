import { memo } from 'react';
import { toDuration } from '../ui/time.tsx';
import { Cut } from '../ui/cut.tsx';

/** What the model thought, folded. */
export const Thought = memo(function Thought({
  text,
  isOpen,
  ms,
}: {
  text: string;
  isOpen: boolean;
  ms: number | undefined;
}) {
  return (
    <details className="rounded-lg border border-line px-3 py-2 text-muted">
      <summary>{isOpen ? 'Thinks…' : ms === undefined ? 'Thought' : `Thought for ${toDuration(ms)}`}</summary>
      <Cut text={text} first={10_000}>
        {(shown) => (
          <p dir="auto" className="mt-2 max-h-80 overflow-auto wrap-anywhere whitespace-pre-wrap" tabIndex={0}>
            {shown}
          </p>
        )}
      </Cut>
    </details>
  );
});
