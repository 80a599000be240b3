import { useState } from 'react';
import { useChange, useList } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, useSearchState } from '../../app/search.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { List } from '../../ui/list.tsx';
import { New } from '../../ui/new.tsx';
import { Page } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { ChangeKey } from './change-key.tsx';
import { describeLimits } from './draft.ts';
import type { ApiKey } from './draft.ts';
import { NewKey } from './new-key.tsx';
import { ShownOnce } from './shown-once.tsx';
import type { KeyValue } from './shown-once.tsx';

/** The keys that programs call the box with. */
export default function Keys() {
  const may = useMay();
  const keys = useList('keys.list', {});
  const [{ agent }] = useSearchState();
  const { asked, ask, close } = useDialogs('open', 'rotate', 'revoke');
  // In memory alone, until it is closed.
  const [made, setMade] = useState<KeyValue>();
  const mayWrite = may('keys:write');
  const find = (asking?: string) =>
    mayWrite ? keys.items?.find(({ id, status }) => id === asking && status === 'active') : undefined;
  const [opened, rotated, revoked] = [find(asked.open), find(asked.rotate), find(asked.revoke)];
  return (
    <Page
      title="API keys"
      actions={
        mayWrite && (
          <New label="New key" reads={['agent']}>
            {(done) => <NewKey agent={agent} onMade={setMade} onClose={done} />}
          </New>
        )
      }
    >
      <List
        of={keys}
        label="API keys"
        keyOf={({ id }) => id}
        columns={mayWrite ? [...COLUMNS, toActions(ask)] : COLUMNS}
        empty={
          <Empty title="There is no API key yet">
            A program calls agents and workflows with a key that is granted them. Its value is shown once, when it is
            made.
          </Empty>
        }
      />
      {opened && <ChangeKey key={opened.id} apiKey={opened} onClose={close} />}
      {revoked && <Revoke apiKey={revoked} onClose={close} />}
      {rotated && <Rotate apiKey={rotated} onMade={setMade} onClose={close} />}
      {made && <ShownOnce of={made} onClose={() => setMade(undefined)} />}
    </Page>
  );
}

// --- internal ---

const TONES = { active: 'good', expired: 'warn', revoked: 'bad' } as const;

const COLUMNS: readonly Column<ApiKey>[] = [
  {
    title: 'Name',
    cell: ({ id, name, prefix, client, users }) => (
      <>
        <bdi className="wrap-anywhere">{name}</bdi>
        <code className="block text-xs text-muted">{prefix}…</code>
        {client !== id && (
          <span className="block text-xs text-muted">
            of <bdi>{client}</bdi>
          </span>
        )}
        {users && <span className="block text-xs text-muted">speaks for users</span>}
      </>
    ),
  },
  { title: 'Status', cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  { title: 'Agents', wide: true, cell: ({ grants }) => grantedOf(grants.agents) },
  { title: 'Workflows', wide: true, cell: ({ grants }) => grantedOf(grants.workflows) },
  {
    title: 'May use',
    wide: true,
    cell: ({ limits, addresses }) => (
      <>
        {describeLimits(limits) || <span className="text-muted">no limit</span>}
        {limits?.users && (
          <span className="block text-xs text-muted">each user: {describeLimits(limits.users) || 'no limit'}</span>
        )}
        {addresses && <code className="block text-xs wrap-anywhere text-muted">from {addresses.join(', ')}</code>}
      </>
    ),
  },
  { title: 'Expires', wide: true, cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : 'never') },
  {
    title: 'Last used',
    wide: true,
    cell: ({ id, lastUsedAt }) => (
      <>
        <Time at={lastUsedAt} />
        {lastUsedAt !== null && (
          <Link to="/usage" search={{ by: 'key', id }} className="block text-xs text-accent underline">
            how much
          </Link>
        )}
      </>
    ),
  },
];

function grantedOf(granted: 'all' | string[]) {
  if (granted === 'all') return 'all';
  return granted.length === 0 ? <span className="text-muted">none</span> : <bdi>{granted.join(', ')}</bdi>;
}

function toActions(ask: (what: 'open' | 'rotate' | 'revoke', id: string) => void): Column<ApiKey> {
  return {
    title: 'Actions',
    end: true,
    cell: (key) =>
      key.status === 'active' && (
        <span className="flex flex-wrap justify-end gap-1">
          <Button small aria-label={`Change ${key.name}`} onClick={() => ask('open', key.id)}>
            Change
          </Button>
          <Button small aria-label={`Rotate ${key.name}`} onClick={() => ask('rotate', key.id)}>
            Rotate
          </Button>
          <Button small look="danger" aria-label={`Revoke ${key.name}`} onClick={() => ask('revoke', key.id)}>
            Revoke
          </Button>
        </span>
      ),
  };
}

function Revoke({ apiKey: { id, name }, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const revoke = useChange('keys.revoke');
  return (
    <Confirm
      title={`Revoke “${name}”?`}
      verb="Revoke"
      danger
      onClose={onClose}
      onConfirm={async () => {
        await revoke.mutateAsync({ id });
        toast(`${name} is revoked.`);
      }}
    >
      What calls the box with it is refused at once, for good.
    </Confirm>
  );
}

interface RotateProps {
  apiKey: ApiKey;
  onMade(value: KeyValue): void;
  onClose(): void;
}

function Rotate({ apiKey: { id, name }, onMade, onClose }: RotateProps) {
  const rotate = useChange('keys.rotate');
  return (
    <Confirm
      title={`Rotate “${name}”?`}
      verb="Rotate"
      onClose={onClose}
      onConfirm={async () => onMade(await rotate.mutateAsync({ id }))}
    >
      A key is made in its place, with the same grants. The old one stays valid for 24 hours.
    </Confirm>
  );
}
