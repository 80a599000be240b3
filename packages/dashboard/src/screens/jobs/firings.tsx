import { useCall } from '../../api/queries.ts';
import { Answer } from '../../ui/answer.tsx';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Json } from '../../ui/json/json.tsx';
import { Link } from '../../ui/link.tsx';
import { Time } from '../../ui/time.tsx';

/** What a timer starts its workflow with, and the last times it did. */
export function Firings({ id, onClose }: { id: string; onClose(): void }) {
  const job = useCall('jobs.get', { id });
  return (
    <Dialog title={id} wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <Answer of={job}>
        {({ input, firings }) => (
          <>
            <h3 className="mb-1 font-medium">Input</h3>
            <Json value={input} label={`Input of ${id}`} />
            <h3 className="mt-4 mb-1 font-medium">Last firings</h3>
            {firings.length === 0 && (
              <Empty title="It has not fired yet">
                It does when its time comes; <i>Run now</i> in the list does not wait for that.
              </Empty>
            )}
            <ul className="flex flex-col gap-1">
              {firings.map(({ at, runId, outcome, error }) => (
                <li key={at} className="flex flex-wrap items-center gap-2">
                  <Time at={at} />
                  {outcome && <Status value={outcome} />}
                  {runId && <Link to={`/runs/${runId}`}>{runId.slice(0, 8)}</Link>}
                  {error && <bdi className="text-bad wrap-anywhere">{error.message}</bdi>}
                </li>
              ))}
            </ul>
          </>
        )}
      </Answer>
    </Dialog>
  );
}
