import { useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { AUTH_TITLES, STATES } from './connection-state.ts';
import type { Connection } from './connection-state.ts';
import { NewConnection } from './new-connection.tsx';

/** The services of others that code calls. */
export default function Connections() {
  const mayWrite = useMay()('connections:write');
  const connections = useList('connections.list', {});
  return (
    <Page
      title="Connections"
      actions={mayWrite && <New label="New connection">{(close) => <NewConnection onClose={close} />}</New>}
    >
      <List
        of={connections}
        label="Connections"
        keyOf={({ id }) => id}
        columns={COLUMNS}
        empty={
          <Empty title="Nothing is connected yet">
            A connection is a service that agents and workflows call with <code>svc.connection</code>. They never see
            its credential.
          </Empty>
        }
      />
    </Page>
  );
}

// --- internal ---

const COLUMNS: readonly Column<Connection>[] = [
  {
    title: 'Connection',
    cell: ({ id, title }) => (
      <>
        <Link to={`/connections/${id}`} className="text-accent underline wrap-anywhere">
          {id}
        </Link>
        <bdi className="block text-xs wrap-anywhere text-muted">{title}</bdi>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ state, problem }) => {
      const [tone, title] = STATES[state];
      return (
        <>
          <Badge tone={tone}>{title}</Badge>
          {problem && <bdi className="block max-w-80 text-xs wrap-anywhere text-bad">{problem}</bdi>}
        </>
      );
    },
  },
  { title: 'Knows the box by', wide: true, cell: ({ auth }) => AUTH_TITLES[auth] },
  {
    title: 'Scopes',
    wide: true,
    cell: ({ scopes, grantedScopes }) => (
      <code className="block max-w-64 text-xs wrap-anywhere">{(grantedScopes ?? scopes).join(' ') || '–'}</code>
    ),
  },
  {
    title: 'Whose',
    wide: true,
    cell: ({ per, users }) => (per === 'box' ? 'of the box' : `per user, ${users} so far`),
  },
  { title: 'Changed', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];
