import type { OperationOutput } from '@svc/runtime/client';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/page.tsx';
import { toDuration } from '../../ui/time.tsx';

/** The outcome of calling the service once. */
export function Tested({ of: { ok, message, status, durationMs } }: { of: OperationOutput<'connections.test'> }) {
  const [tone, verdict] = !ok ? (['bad', 'does not work'] as const) : status === null ? UNTRIED : WORKS;
  return (
    <Panel>
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={tone}>{verdict}</Badge>
        <bdi className="wrap-anywhere">{message}</bdi>
        <span className="text-muted">
          {status !== null && `${status}, `}
          {toDuration(durationMs)}
        </span>
      </p>
    </Panel>
  );
}

// --- internal ---

const WORKS = ['good', 'works'] as const;
/** There is a credential, and no call that would show whether it is good. */
const UNTRIED = ['neutral', 'not tried'] as const;
