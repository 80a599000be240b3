import { isOAuth } from './providers.ts';
import { resolve } from './resolve.ts';
import type { Connection, ListedConnection } from './store.ts';

/** As every surface shows it. */
export function toConnection(
  { connection, credential, hasClientSecret, users }: ListedConnection,
  callbackUrl: string,
): Connection {
  const { id, provider, auth, per, createdBy, createdAt, updatedAt } = connection;
  const { title, baseUrl, origins, authorizationUrl, tokenUrl, revocationUrl, clientId, scopes, tokenAuth } =
    resolve(connection);
  return {
    id,
    provider,
    title,
    auth,
    per,
    state: toState({ connection, credential, hasClientSecret, users }, tokenAuth === 'none'),
    problem: credential?.problem ?? null,
    baseUrl,
    origins: [...origins],
    authorizationUrl: auth === 'oauth2' ? authorizationUrl : null,
    tokenUrl: isOAuth(auth) ? tokenUrl : null,
    revocationUrl: isOAuth(auth) ? revocationUrl : null,
    clientId,
    hasClientSecret,
    scopes: isOAuth(auth) ? scopes : [],
    grantedScopes: credential?.scopes?.split(' ') ?? null,
    expiresAt: credential?.expiresAt?.toISOString() ?? null,
    users,
    callbackUrl,
    createdBy,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

// --- internal ---

function toState(
  { connection, credential, hasClientSecret }: ListedConnection,
  isPublic: boolean,
): Connection['state'] {
  const { auth, per } = connection;
  if (isOAuth(auth) && !hasClientSecret && !isPublic)
    return credential?.state === 'ready' ? 'ready' : 'needs_credential';
  if (per === 'user') return 'ready';
  if (credential) return credential.state;
  return auth === 'oauth2' ? 'needs_sign_in' : 'needs_credential';
}
