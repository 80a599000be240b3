import { useMemo } from 'react';
import { Copy } from './copy.tsx';
import { Cut } from './cut.tsx';
import { Json } from './json/json.tsx';
import { isBrief } from './json/is-brief.ts';

/** A value as text, JSON of it; as a tree that is opened where that would be more than a page can draw at once. */
export function Value({ label, value }: { label: string; value: unknown }) {
  const text = useMemo(() => {
    if (typeof value === 'string') return value;
    return isBrief(value, FIRST) ? (JSON.stringify(value, null, 2) ?? 'undefined') : undefined;
  }, [value]);
  return (
    <section className="mb-3 min-w-0">
      <div className="mb-1 flex items-center gap-2">
        <h3 className="flex-1 text-xs font-medium text-muted">{label}</h3>
        {text !== undefined && <Copy text={text} what={label} />}
      </div>
      {text === undefined ? (
        <div className="rounded border border-line bg-page p-2">
          <Json value={value} label={label} />
        </div>
      ) : (
        <Cut text={text} first={FIRST}>
          {(shown) => (
            <pre
              tabIndex={0}
              aria-label={label}
              dir="ltr"
              className="max-h-96 overflow-auto rounded border border-line bg-page p-2 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
            >
              {shown}
            </pre>
          )}
        </Cut>
      )}
    </section>
  );
}

// --- internal ---

/** Characters that are shown at first. */
const FIRST = 20_000;
