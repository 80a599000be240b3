import { Badge } from '../../ui/badge.tsx';
import { Link } from '../../ui/link.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import type { ConnectionDetail } from './connection.tsx';

/** The agents and workflows that have called through a connection. */
export function Uses({ id, uses }: { id: string; uses: ConnectionDetail['usedBy'] }) {
  if (uses.length === 0)
    return (
      <p className="text-muted">
        Nothing has called through it yet. Code does with{' '}
        <code className="wrap-anywhere">svc.connection(&apos;{id}&apos;).fetch()</code>.
      </p>
    );
  return (
    <Table
      label="Used by"
      rows={uses}
      keyOf={({ kind, name }) => `${kind}/${name}`}
      columns={[
        {
          title: 'Name',
          cell: ({ kind, name }) => (
            <Link
              to={kind === 'agent' ? '/catalog' : `/workflows/${encodeURIComponent(name)}`}
              {...(kind === 'agent' ? { search: { open: `agent/${name}` } } : {})}
            >
              <bdi className="wrap-anywhere">{name}</bdi>
            </Link>
          ),
        },
        { title: 'Kind', cell: ({ kind }) => <Badge>{kind}</Badge> },
        { title: 'Last', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
      ]}
    />
  );
}
