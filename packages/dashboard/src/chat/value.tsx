import { memo } from 'react';
import { Cut } from '../ui/cut.tsx';

/** The arguments of a call, or the outcome of it: as JSON where it is some, and cut where it is long. */
export const Value = memo(function Value({ label, text, isWhole }: { label: string; text: string; isWhole: boolean }) {
  return (
    <div className="min-w-0">
      <p className="text-xs text-muted">{label}</p>
      <Cut text={isWhole ? toPretty(text) : text} first={5_000}>
        {(shown) => (
          <pre
            tabIndex={0}
            role="region"
            aria-label={label}
            dir="auto"
            className="max-h-80 overflow-auto rounded bg-page p-2 font-mono text-xs wrap-anywhere whitespace-pre-wrap"
          >
            {shown || ' '}
          </pre>
        )}
      </Cut>
    </div>
  );
});

// --- internal ---

/** JSON with a member a line; anything else as it is. */
function toPretty(text: string): string {
  if (text.length > 500_000 || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
