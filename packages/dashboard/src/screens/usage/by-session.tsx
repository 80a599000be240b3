import type { OperationOutput } from '@svc/runtime/client';
import { useList } from '../../api/queries.ts';
import { toCount } from '../../ui/count.ts';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';

/** Sessions with all that their turns have used, the last active first. */
export function BySession() {
  const list = useList('sessions.list', { limit: 50 });
  return (
    <List
      of={list}
      label="Used by sessions"
      columns={COLUMNS}
      keyOf={({ sessionId }) => sessionId}
      empty={
        <Empty title="There is no session">
          Say something in the <Link to="/playground">Playground</Link>.
        </Empty>
      }
    />
  );
}

// --- internal ---

type Session = OperationOutput<'sessions.list'>['items'][number];

const COLUMNS: readonly Column<Session>[] = [
  {
    title: 'Session',
    cell: ({ sessionId, name }) => (
      <Link to={`/sessions/${sessionId}`}>
        <bdi className="wrap-anywhere">{name}</bdi>
      </Link>
    ),
  },
  { title: 'Agent', wide: true, cell: ({ agent }) => <bdi>{agent}</bdi> },
  { title: 'Turns', end: true, wide: true, cell: ({ turns }) => toCount(turns) },
  { title: 'In', end: true, wide: true, cell: ({ inputTokens }) => toCount(inputTokens) },
  { title: 'Out', end: true, wide: true, cell: ({ outputTokens }) => toCount(outputTokens) },
  { title: 'Tokens', end: true, cell: ({ totalTokens }) => toCount(totalTokens) },
  { title: 'Last active', end: true, wide: true, cell: ({ lastActiveAt }) => <Time at={lastActiveAt} /> },
];
