import { useCall } from '../../api/queries.ts';
import { Status } from '../../ui/badge.tsx';
import { Link } from '../../ui/link.tsx';
import { Refused } from '../../ui/refused.tsx';

/** The runs that were started to repeat this one, newest first; nothing when there is none. */
export function Repeats({ id }: { id: string }) {
  const repeats = useCall('runs.list', { retryOf: id, limit: SHOWN });
  const { data } = repeats;
  if (repeats.error && !data)
    return (
      <div>
        <dt className="text-muted">Repeated by</dt>
        <dd>
          <Refused of={repeats} what="The runs that repeat it" />
        </dd>
      </div>
    );
  if (!data || data.items.length === 0) return null;
  return (
    <div className="flex min-w-0 flex-wrap gap-1.5">
      <dt className="text-muted">Repeated by</dt>
      <dd className="flex min-w-0 flex-wrap gap-x-3">
        {data.items.map(({ runId, status }) => (
          <span key={runId} className="whitespace-nowrap">
            <Link to={`/runs/${runId}`}>{runId.slice(0, 8)}</Link> <Status value={status} />
          </span>
        ))}
        {data.nextCursor !== null && (
          <Link to="/runs" search={{ retryOf: id }}>
            All of them
          </Link>
        )}
      </dd>
    </div>
  );
}

// --- internal ---

const SHOWN = 3;
