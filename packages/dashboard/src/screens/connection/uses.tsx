import { Badge } from '../../ui/badge.tsx';
import { Link } from '../../ui/link.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import type { ConnectionDetail } from './connection.tsx';

/** The agents, workflows and triggers that have called through a connection. */
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
            <Link {...placeOf(kind, name)}>
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

// --- internal ---

function placeOf(kind: ConnectionDetail['usedBy'][number]['kind'], name: string) {
  if (kind === 'agent') return { to: '/catalog', search: { open: `agent/${name}` } };
  return { to: kind === 'trigger' ? '/triggers' : `/workflows/${encodeURIComponent(name)}` };
}
