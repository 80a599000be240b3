import { Badge } from '../../ui/badge.tsx';
import { placeOf } from './place.ts';

export interface RunFault {
  code: string;
  name: string;
  message: string;
  stack: string | null;
  cause?: unknown;
}

/** What ended a run or a step: the sentence, the code, and where in the author's files. */
export function Fault({ error }: { error: RunFault }) {
  const place = placeOf(error.stack);
  return (
    <div role="group" aria-label="Error" className="mb-3 rounded border border-bad bg-bad-soft p-3">
      <p className="font-medium wrap-anywhere whitespace-pre-wrap text-bad">
        <bdi>
          {error.name}: {error.message.slice(0, MOST)}
        </bdi>
      </p>
      <p className="mt-1 flex flex-wrap items-center gap-2 text-xs">
        <Badge tone="bad">
          <bdi className="whitespace-normal wrap-anywhere">{error.code}</bdi>
        </Badge>
        {place !== undefined && <code className="wrap-anywhere">{place}</code>}
      </p>
      {error.stack !== null && (
        <details className="mt-2 text-xs">
          <summary>Stack</summary>
          <pre tabIndex={0} className="mt-1 max-h-60 overflow-auto font-mono whitespace-pre-wrap wrap-anywhere">
            {error.stack.slice(0, MOST)}
          </pre>
        </details>
      )}
      {isFault(error.cause) && (
        <div className="mt-2 text-xs">
          Caused by
          <Fault error={error.cause} />
        </div>
      )}
    </div>
  );
}

// --- internal ---

const MOST = 10_000;

function isFault(value: unknown): value is RunFault {
  return typeof value === 'object' && value !== null && 'message' in value && 'stack' in value && 'code' in value;
}
