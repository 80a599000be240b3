import type { OperationOutput } from '@svc/runtime/client';
import type { Tone } from '../../ui/badge.tsx';

export type Connection = OperationOutput<'connections.list'>['items'][number];
export type AuthKind = Connection['auth'];

export const AUTH_TITLES: Record<AuthKind, string> = {
  oauth2: 'A sign-in (OAuth 2)',
  client_credentials: 'Client credentials (OAuth 2)',
  api_key: 'An API key',
  basic: 'A username and a password',
};

export const STATES: Record<Connection['state'], readonly [tone: Tone, title: string]> = {
  ready: ['good', 'ready'],
  needs_credential: ['warn', 'needs a credential'],
  needs_sign_in: ['warn', 'needs a sign-in'],
  expired: ['bad', 'expired'],
  revoked: ['bad', 'revoked'],
};

export function isOAuth(auth: AuthKind): boolean {
  return auth === 'oauth2' || auth === 'client_credentials';
}

/** What stands between it and its first call, or that nothing does. */
export function nextOf({ auth, per, state, users }: Connection): string {
  if (state === 'needs_credential')
    return isOAuth(auth) ? 'The client secret is missing.' : 'Its credential is missing.';
  if (state === 'needs_sign_in') return 'A person has to sign in who owns the account.';
  if (state === 'expired') return 'The token has ended and cannot be refreshed: sign in again.';
  if (state === 'revoked')
    return auth === 'oauth2' ? 'The service no longer takes it: sign in again.' : 'The service no longer takes it.';
  if (per === 'box') return 'Agents and workflows can call through it.';
  return `Each end user signs in with an account of their own; ${users === 0 ? 'no one has' : `${users} have`}.`;
}
