import { useMemo, useState } from 'react';
import { Button } from './button.tsx';
import { Copy } from './copy.tsx';

/** A value as text: JSON of it, its beginning at first where there is much. */
export function Value({ label, value }: { label: string; value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  const text = useMemo(
    () => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined')),
    [value],
  );
  const shown = isWhole ? text : text.slice(0, FIRST);
  return (
    <section className="mb-3 min-w-0">
      <div className="mb-1 flex items-center gap-2">
        <h3 className="flex-1 text-xs font-medium text-muted">{label}</h3>
        <Copy text={text} what={label} />
      </div>
      <pre
        tabIndex={0}
        aria-label={label}
        dir="ltr"
        className="max-h-96 overflow-auto rounded border border-line bg-page p-2 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
      >
        {shown}
      </pre>
      {text.length > shown.length && (
        <Button small className="mt-1" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString('en')} characters
        </Button>
      )}
    </section>
  );
}

// --- internal ---

const FIRST = 20_000;
