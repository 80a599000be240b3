import { useCall } from '../../api/queries.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';

/** The state of a run and why, as the box explains it. */
export function WhyPanel({ id }: { id: string }) {
  const why = useCall('runs.why', { id });
  return (
    <Panel title="Why">
      <Answer of={why} rows={2}>
        {({ summary, reasons, suggestion, nextWakeAt }) => (
          <>
            <p className="wrap-anywhere">
              <bdi>{summary}</bdi>
            </p>
            {reasons.length > 1 && (
              <ul className="mt-2 list-disc pl-5">
                {reasons.slice(0, 20).map((reason) => (
                  <li key={`${reason.code} ${reason.message}`} className="wrap-anywhere">
                    <Badge>{reason.code}</Badge> <bdi>{reason.message}</bdi>
                  </li>
                ))}
              </ul>
            )}
            {suggestion !== '' && (
              <p className="mt-2 wrap-anywhere text-muted">
                <bdi>{suggestion}</bdi>
              </p>
            )}
            {nextWakeAt !== null && (
              <p className="mt-2 text-muted">
                It goes on by itself <Time at={nextWakeAt} />.
              </p>
            )}
          </>
        )}
      </Answer>
    </Panel>
  );
}
