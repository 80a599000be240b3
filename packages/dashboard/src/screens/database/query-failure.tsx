import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/failure.tsx';
import { toTextPlace } from './text-place.ts';

export interface QueryFailureProps {
  error: unknown;
  /** What was run. */
  statement: string;
  /** What is in the editor. */
  current: string;
  onSelect(from: number, to: number): void;
}

/** Why a statement was refused, and where in it. */
export function QueryFailure({ error, statement, current, onSelect }: QueryFailureProps) {
  const { position, hint, sql } = ((error as { details?: unknown } | null)?.details ?? {}) as Details;
  const place = typeof position === 'number' ? toTextPlace(statement, position) : undefined;
  return (
    <>
      <Failure error={error} />
      {typeof hint === 'string' && <p className="mb-2 wrap-anywhere">{hint}</p>}
      {typeof sql === 'string' && (
        <pre
          tabIndex={0}
          aria-label="What an administrator runs"
          className="mb-2 overflow-x-auto rounded border border-line bg-panel p-2 font-mono text-xs"
        >
          {sql}
        </pre>
      )}
      {place && (
        <div className="rounded-lg border border-line bg-panel p-3">
          <div className="mb-1 flex flex-wrap items-center gap-2">
            <p className="flex-1 text-muted">
              Line {place.line}, column {place.column}
            </p>
            {current === statement && (
              <Button small onClick={() => onSelect(place.from, place.to)}>
                Go there
              </Button>
            )}
          </div>
          <pre className="font-mono text-xs wrap-anywhere whitespace-pre-wrap">
            {place.around[0]}
            <mark className="rounded bg-bad-soft px-0.5 text-bad underline">{place.around[1] || '⏎'}</mark>
            {place.around[2]}
          </pre>
        </div>
      )}
    </>
  );
}

// --- internal ---

interface Details {
  position?: unknown;
  hint?: unknown;
  /** What makes the login that reads, where the box may not. */
  sql?: unknown;
}
