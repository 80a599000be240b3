import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useChange, useLeave } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { usePathParams } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Page, Panel } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { STATES, nextOf } from '../connections/connection-state.ts';
import { CredentialForm } from './credential-form.tsx';
import { Facts } from './facts.tsx';
import { SignIn } from './sign-in.tsx';
import { Tested } from './tested.tsx';
import { Uses } from './uses.tsx';

export type ConnectionDetail = OperationOutput<'connections.get'>;

/** One connection: its state, how it is made to work, and what calls through it. */
export default function ConnectionScreen() {
  const { id = '' } = usePathParams();
  const connection = useCall('connections.get', { id });
  const shown = <Answer of={connection}>{(detail) => <Detail key={id} connection={detail} />}</Answer>;
  return connection.data ? shown : <Page title={id}>{shown}</Page>;
}

// --- internal ---

type Asked = 'credential' | 'sign-in' | 'delete';

function Detail({ connection }: { connection: ConnectionDetail }) {
  const { id, title, auth, per, state, problem, usedBy } = connection;
  const mayWrite = useMay()('connections:write');
  const test = useChange('connections.test');
  const [asked, setShown] = useState<Asked>();
  const setAsked = (what: Asked | undefined) => {
    // What was tried is not what will be.
    if (what !== undefined && what !== 'delete') test.reset();
    setShown(what);
  };
  const close = () => setAsked(undefined);
  const [tone, stateTitle] = STATES[state];
  const isMissing = state === 'needs_credential';
  return (
    <Page
      title={id}
      actions={
        <>
          {mayWrite && auth === 'oauth2' && per === 'box' && !isMissing && (
            <Button look={state === 'ready' ? 'plain' : 'primary'} onClick={() => setAsked('sign-in')}>
              {state === 'ready' ? 'Sign in again' : 'Sign in'}
            </Button>
          )}
          {mayWrite && (
            <Button look={isMissing ? 'primary' : 'plain'} onClick={() => setAsked('credential')}>
              Set the credential
            </Button>
          )}
          {per === 'box' && !isMissing && state !== 'needs_sign_in' && (
            <Button busy={test.isPending} onClick={() => test.mutate({ id })}>
              Test
            </Button>
          )}
          {mayWrite && (
            <Button look="danger" onClick={() => setAsked('delete')}>
              Delete
            </Button>
          )}
        </>
      }
    >
      <div className="mb-4">
        <p className="flex flex-wrap items-center gap-2">
          <bdi className="wrap-anywhere">{title}</bdi>
          <Badge tone={tone}>{stateTitle}</Badge>
          <span className="text-muted">{nextOf(connection)}</span>
        </p>
        {problem && <bdi className="mt-1 block wrap-anywhere text-bad">{problem}</bdi>}
      </div>
      <div aria-live="polite">
        {test.error && <Failure error={test.error} />}
        {test.data && <Tested of={test.data} />}
      </div>
      <Panel title="What it is">
        <Facts connection={connection} />
      </Panel>
      <Panel title="Used by">
        <Uses uses={usedBy} id={id} />
      </Panel>
      {asked === 'credential' && <CredentialForm connection={connection} onClose={close} />}
      {asked === 'sign-in' && <SignIn connection={connection} onClose={close} />}
      {asked === 'delete' && <Delete connection={connection} onClose={close} />}
    </Page>
  );
}

function Delete({ connection, onClose }: { connection: ConnectionDetail; onClose(): void }) {
  const { id, title, users, usedBy, revocationUrl } = connection;
  const navigate = useNavigate();
  const remove = useLeave('connections.delete');
  const whose = users === 0 ? 'its credential' : `its credential and those of ${users} end users`;
  return (
    <Confirm
      title={`Delete ${id}?`}
      verb="Delete"
      danger
      onClose={onClose}
      onConfirm={async () => {
        const { revocation } = await remove.mutateAsync({ id });
        const result = revocation.state === 'none' ? '' : ` ${revocation.message}`;
        toast(`${id} is deleted.${result}`, revocation.state === 'failed' ? 'bad' : 'good');
        await navigate({ to: '/connections' as never });
      }}
    >
      It goes with {whose}
      {usedBy.length > 0 && `; ${usedBy.map(({ name }) => name).join(', ')} can call through it no more`}.{' '}
      {revocationUrl === null
        ? 'Take back at the service what it has granted.'
        : `${title} is asked to take back what it has granted.`}
    </Confirm>
  );
}
