import { useList } from '../../api/queries.ts';
import type { OperationOutput } from '@svc/runtime/client';
import { useSearchState } from '../../app/search.ts';
import { AgentFilter } from '../../ui/agent-filter.tsx';
import { Answer } from '../../ui/answer.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Link } from '../../ui/link.tsx';
import { More } from '../../ui/more.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toCount } from '../../ui/count.ts';

/** Every conversation, the last active first. */
export default function Sessions() {
  const [{ agent = '', user = '' }, change] = useSearchState();
  const list = useList(
    'sessions.list',
    { limit: 50, ...(agent === '' ? {} : { agent }), ...(user === '' ? {} : { user }) },
    { keep: true },
  );
  return (
    <Page title="Sessions">
      <div className="mb-3 flex flex-wrap gap-2">
        <AgentFilter agent={agent} onChange={(name) => change({ agent: name }, 'push')} />
        <Field label="User" quiet>
          {(parts) => (
            <Input
              {...parts}
              type="search"
              placeholder="User of a client"
              value={user}
              onChange={(event) => change({ user: event.target.value })}
            />
          )}
        </Field>
      </div>
      <Answer of={{ ...list, data: list.items }}>
        {(items) =>
          items.length === 0 ? (
            <Empty title="There is no session">
              {agent === '' && user === '' ? (
                <>
                  Say something in the <Link to="/playground">Playground</Link>, or send <code>x-svc-session</code> with
                  a request.
                </>
              ) : (
                'None is of that agent and user.'
              )}
            </Empty>
          ) : (
            <>
              <Table label="Sessions" columns={COLUMNS} rows={items} keyOf={({ sessionId }) => sessionId} />
              <More has={list.hasNextPage} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
            </>
          )
        }
      </Answer>
    </Page>
  );
}

// --- internal ---

type Session = OperationOutput<'sessions.list'>['items'][number];

const COLUMNS: readonly Column<Session>[] = [
  {
    title: 'Session',
    cell: ({ sessionId, name }) => (
      <Link to={`/sessions/${sessionId}`} className="text-accent underline wrap-anywhere">
        {name}
      </Link>
    ),
  },
  { title: 'Agent', cell: ({ agent }) => agent },
  { title: 'Whose', wide: true, cell: ({ owner }) => <bdi>{owner ? owner.id : 'the box'}</bdi> },
  { title: 'Turns', end: true, cell: ({ turns }) => toCount(turns) },
  { title: 'Tokens', end: true, cell: ({ totalTokens }) => toCount(totalTokens) },
  { title: 'Last active', end: true, cell: ({ lastActiveAt }) => <Time at={lastActiveAt} /> },
];
