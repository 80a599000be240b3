import type { OperationOutput } from '@svc/runtime/client';
import { useCall, useChange, useLeave } from '../../api/queries.ts';
import { useMay } from '../../app/box.ts';
import { useDialogs, usePathParams } from '../../app/search.ts';
import { Answer } from '../../ui/answer.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Delete } from '../../ui/delete.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Page, Panel } from '../../ui/page.tsx';
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

function Detail({ connection }: { connection: ConnectionDetail }) {
  const { id, title, auth, per, state, problem, usedBy } = connection;
  const mayWrite = useMay()('connections:write');
  const test = useChange('connections.test');
  const { asked, ask, close } = useDialogs('credential', 'sign-in', 'delete');
  const setUp = (what: 'credential' | 'sign-in') => {
    // What was tried is not what will be.
    test.reset();
    ask(what);
  };
  const [tone, stateTitle] = STATES[state];
  const isMissing = state === 'needs_credential';
  const maySignIn = mayWrite && auth === 'oauth2' && per === 'box' && !isMissing;
  return (
    <Page
      title={id}
      actions={
        <>
          {maySignIn && (
            <Button look={state === 'ready' ? 'plain' : 'primary'} onClick={() => setUp('sign-in')}>
              {state === 'ready' ? 'Sign in again' : 'Sign in'}
            </Button>
          )}
          {mayWrite && (
            <Button look={isMissing ? 'primary' : 'plain'} onClick={() => setUp('credential')}>
              Set the credential
            </Button>
          )}
          {per === 'box' && !isMissing && state !== 'needs_sign_in' && (
            <Button busy={test.isPending} onClick={() => test.mutate({ id })}>
              Test
            </Button>
          )}
          {mayWrite && (
            <Button look="danger" onClick={() => ask('delete')}>
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
      {asked.credential && mayWrite && <CredentialForm connection={connection} onClose={close} />}
      {asked['sign-in'] && maySignIn && <SignIn connection={connection} onClose={close} />}
      {asked.delete && mayWrite && <DeleteThis connection={connection} onClose={close} />}
    </Page>
  );
}

function DeleteThis({ connection, onClose }: { connection: ConnectionDetail; onClose(): void }) {
  const { id, title, users, usedBy, revocationUrl } = connection;
  const remove = useLeave('connections.delete');
  const whose = users === 0 ? 'its credential' : `its credential and those of ${users} end users`;
  return (
    <Delete
      name={id}
      to="/connections"
      onDelete={() => remove.mutateAsync({ id })}
      done={({ revocation: { state, message } }) => [
        state === 'none' ? `${id} is deleted.` : `${id} is deleted. ${message}`,
        state === 'failed' ? 'bad' : 'good',
      ]}
      onClose={onClose}
    >
      It goes with {whose}
      {usedBy.length > 0 && `; ${usedBy.map(({ name }) => name).join(', ')} can call through it no more`}.{' '}
      {revocationUrl === null
        ? 'Revoke at the service what it has granted.'
        : `${title} is asked to revoke what it has granted.`}
    </Delete>
  );
}
