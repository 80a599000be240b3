import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Link } from '../../ui/link.tsx';
import { Refused } from '../../ui/refused.tsx';

type Workflow = OperationOutput<'workflows.get'>;

/** What starts a workflow besides who asks for it: an event, timers, triggers. */
export function StartedBy({ workflow: { name, event, schedules } }: { workflow: Workflow }) {
  const triggers = useList('triggers.list', { limit: 200 }, { enabled: useMay()('triggers:read') });
  const own = triggers.items?.filter(({ target }) => 'workflow' in target && target.workflow === name) ?? [];
  const parts = [
    ...(event === null
      ? []
      : [
          <span key="event">
            the event <code className="text-xs wrap-anywhere">{event}</code>
          </span>,
        ]),
    ...(schedules === 0
      ? []
      : [
          <Link key="timers" to="/jobs" search={{ workflow: name }}>
            {schedules === 1 ? '1 timer' : `${schedules} timers`}
          </Link>,
        ]),
    ...own.map(({ id, name: title }) => (
      <span key={id}>
        the trigger{' '}
        <Link to={`/triggers/${id}`}>
          <bdi>{title}</bdi>
        </Link>
      </span>
    )),
  ];
  return (
    <>
      <Refused of={triggers} what="The triggers that start it" />
      {parts.length > 0 && (
        <p className="mb-4 flex flex-wrap gap-x-2">
          <span className="text-muted">Started by</span>
          {parts}
        </p>
      )}
    </>
  );
}
