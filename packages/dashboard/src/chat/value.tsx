import { memo, useState } from 'react';
import { Button } from '../ui/button.tsx';

/** Characters that are shown at first. */
const SHOWN = 5_000;

/** The arguments of a call, or what came of it: as JSON where it is some, and cut where it is long. */
export const Value = memo(function Value({ label, text, isWhole }: { label: string; text: string; isWhole: boolean }) {
  const [isAll, setAll] = useState(false);
  const pretty = isWhole ? toPretty(text) : text;
  const isCut = !isAll && pretty.length > SHOWN;
  return (
    <div className="min-w-0">
      <p className="text-xs text-muted">{label}</p>
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        dir="auto"
        className="max-h-80 overflow-auto rounded bg-page p-2 font-mono text-xs wrap-anywhere whitespace-pre-wrap"
      >
        {isCut ? `${pretty.slice(0, SHOWN)}…` : pretty || ' '}
      </pre>
      {isCut && (
        <Button small className="mt-1" onClick={() => setAll(true)}>
          Show all {pretty.length.toLocaleString()} characters
        </Button>
      )}
    </div>
  );
});

/** JSON with a member a line; anything else as it is. */
export function toPretty(text: string): string {
  if (text.length > 500_000 || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
