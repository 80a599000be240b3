import { Copy } from '../../ui/copy.tsx';
import { Time } from '../../ui/time.tsx';
import { AUTH_TITLES, isOAuth } from '../connections/connection-state.ts';
import { Code, Fact } from '../../ui/fact.tsx';
import type { Connection } from '../connections/connection-state.ts';

/** What a connection says of itself. None of it is secret. */
export function Facts({ connection }: { connection: Connection }) {
  const { provider, auth, per, baseUrl, origins, authorizationUrl, tokenUrl, revocationUrl } = connection;
  const { clientId, hasClientSecret } = connection;
  const { scopes, grantedScopes, expiresAt, users, callbackUrl, createdBy, createdAt } = connection;
  return (
    <dl className="grid grid-cols-1 gap-x-4 gap-y-1 sm:grid-cols-[auto_1fr]">
      <Fact title="Service">{provider}</Fact>
      <Fact title="Knows the box by">{AUTH_TITLES[auth]}</Fact>
      {auth === 'oauth2' && (
        <Fact title="Whose account">
          {per === 'box' ? 'One for the box' : `One per end user: ${users} have signed in`}
        </Fact>
      )}
      <Fact title="Address of its API">
        <Code>{baseUrl}</Code>
      </Fact>
      <Fact title="Sent the credential">
        <Code>{origins.join(' ')}</Code>
      </Fact>
      {auth === 'oauth2' && (
        <Fact title="To register at the service">
          <span className="flex flex-wrap items-center gap-2">
            <Code>{callbackUrl}</Code>
            <Copy text={callbackUrl} what="the redirect address" />
          </span>
        </Fact>
      )}
      {authorizationUrl !== null && (
        <Fact title="Where a person signs in (authorization endpoint)">
          <Code>{authorizationUrl}</Code>
        </Fact>
      )}
      {tokenUrl !== null && (
        <Fact title="Token endpoint">
          <Code>{tokenUrl}</Code>
        </Fact>
      )}
      {revocationUrl !== null && (
        <Fact title="Revocation endpoint">
          <Code>{revocationUrl}</Code>
        </Fact>
      )}
      {isOAuth(auth) && (
        <>
          <Fact title="Client">
            <Code>{clientId}</Code>, {hasClientSecret ? 'with its secret' : 'without a secret'}
          </Fact>
          <Fact title="Scopes">
            <Code>{scopes.join(' ') || '–'}</Code>
          </Fact>
          {grantedScopes && (
            <Fact title="Granted">
              <Code>{grantedScopes.join(' ')}</Code>
            </Fact>
          )}
          {expiresAt && (
            <Fact title="Token ends">
              <Time at={expiresAt} />
            </Fact>
          )}
        </>
      )}
      <Fact title="Made">
        <Time at={createdAt} /> by <bdi>{createdBy}</bdi>
      </Fact>
    </dl>
  );
}
