import { useCall } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Deadline } from '../../chat/deadline.tsx';
import { Status } from '../../ui/badge.tsx';
import { Link } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';
import { ACTIONS, askedOf, wholeOf } from '../approvals/approval.ts';
import type { ListedApproval } from '../approvals/approval.ts';
import { Asked } from '../approvals/asked.tsx';
import { Decide } from '../approvals/decide.tsx';
import { Refused } from '../../ui/refused.tsx';

/** What a run has asked people, newest first: what waits is decided here. Nothing where it has asked nothing. */
export function RunApprovals({ id }: { id: string }) {
  const may = useMay();
  const approvals = useCall('approvals.list', { run: id, limit: MOST }, { enabled: may('hitl:read') });
  const { data } = approvals;
  if (!data || data.items.length === 0) return <Refused of={approvals} what="What it has asked people" />;
  return (
    <section aria-label="Approvals" className="mb-4 rounded-lg border border-line bg-panel p-3">
      <h2 className="mb-1 font-medium">Approvals</h2>
      <ul className="divide-y divide-line">
        {data.items.map((approval) => (
          <li key={approval.approvalId} className="min-w-0 py-2">
            <One listed={approval} />
          </li>
        ))}
      </ul>
      {data.nextCursor !== null && <p className="text-xs text-muted">There are more than {MOST}.</p>}
    </section>
  );
}

// --- internal ---

const MOST = 20;

function One({ listed }: { listed: ListedApproval }) {
  const { approvalId, title, status, createdAt, expiresAt, audit, note } = listed;
  const last = audit.at(-1);
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        <Link to="/approvals" search={{ status: 'all', open: approvalId }}>
          <bdi>{title}</bdi>
        </Link>
        <Status value={status} />
        <span className="text-xs text-muted">
          {last && audit.length > 1 ? (
            <>
              {ACTIONS[last.action] ?? last.action}
              {last.by !== null && (
                <>
                  {' '}
                  by <bdi>{last.by}</bdi>
                </>
              )}
              , <Time at={last.at} />
            </>
          ) : (
            <>
              Asked <Time at={createdAt} />
            </>
          )}
        </span>
      </p>
      {note !== null && (
        <p dir="auto" className="mt-1 text-muted wrap-anywhere">
          {note}
        </p>
      )}
      {status === 'pending' && expiresAt !== null && <Deadline at={expiresAt} />}
      {status === 'pending' && <Pending listed={listed} />}
    </>
  );
}

/** What is asked is read whole before it is decided. */
function Pending({ listed }: { listed: ListedApproval }) {
  const whole = wholeOf(listed);
  const asked = useCall('approvals.get', { id: listed.approvalId });
  const approval = asked.data ?? whole;
  if (!approval) return <Refused of={asked} what="What is asked" />;
  const { call, args } = askedOf(approval);
  return (
    <div className="mt-2">
      {args !== undefined && args !== null && (
        <Asked label={call ? 'Arguments' : 'Payload'} value={args} schema={call ? asked.data?.inputSchema : null} />
      )}
      <Decide approval={approval} />
    </div>
  );
}
