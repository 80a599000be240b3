import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '../errors.ts';
import type { Mask } from '../mask.ts';
import { LEASE_SECONDS } from './credential-rows.ts';
import type { Granted, OAuth, OAuthClient } from './oauth.ts';
import { clientOf } from './resolve.ts';
import type { Resolved } from './resolve.ts';
import type { Revoke } from './revocation.ts';
import type { ConnectionStore, CredentialRow, Lease, Owner } from './store.ts';

/** What a call is made with. */
export interface Credential {
  header: string;
  value: string;
  /** Of OAuth: what is not taken any more is replaced by another. */
  token: string | undefined;
}

export interface Credentials {
  /**
   * A credential that is good as far as is known here. A token that ends within a minute, or that the service has `rejected`,
   * is replaced first: once, however many ask, over all replicas. Throws `connection_not_ready`, `connection_failed`.
   */
  get(service: Resolved, owner: Owner, rejected?: string): Promise<Credential>;
}

export interface CredentialsOptions {
  store: ConnectionStore;
  oauth: OAuth;
  mask: Pick<Mask, 'addPassing'>;
  revoke: Revoke;
}

export function createCredentials({ store, oauth, mask, revoke }: CredentialsOptions): Credentials {
  /** Those who ask for the same token in this process wait for one answer. */
  const renewing = new Map<string, Promise<string>>();

  const renew = async (service: Resolved, owner: Owner, rejected: string | undefined): Promise<string> => {
    const key = JSON.stringify([service.connectionId, owner, rejected]);
    const running = renewing.get(key);
    if (running) return running;
    const started = renewNow(service, owner, rejected).finally(() => renewing.delete(key));
    renewing.set(key, started);
    return started;
  };

  const renewNow = async (service: Resolved, owner: Owner, rejected: string | undefined): Promise<string> => {
    const { connectionId: id } = service;
    const deadline = performance.now() + LONGEST_WAIT_MS;
    for (;;) {
      const row = (await store.open(id, owner))?.credential;
      const { access, refresh } = await store.readParts(id, owner);
      requireReady(service, owner, row);
      // Someone else has replaced it meanwhile.
      if (access !== undefined && access !== rejected && !endsSoon(row)) return access;
      if (service.auth === 'oauth2' && refresh === undefined) {
        const problem = 'The token has ended, and the service has given none to refresh it with. Sign in again.';
        await store.end(id, owner, row.version, 'expired', problem);
        continue;
      }
      const clientSecret = await store.readClientSecret(id);
      const lease = await store.lease(id, owner, row.version);
      if (lease !== undefined) return replace({ service, owner, row, lease, refresh, clientSecret });
      // Whoever is at it may have ended: what is good for a little is better than to wait until that is known.
      if (access !== undefined && access !== rejected && !endsSoon(row, LATE_MS)) return access;
      if (performance.now() > deadline)
        throw failed(service, 'another process has been asking for a token for too long');
      await sleep(LOOK_MS);
    }
  };

  const replace = async (renewal: Renewal): Promise<string> => {
    const { service, owner, row, lease, refresh, clientSecret } = renewal;
    const { connectionId: id } = service;
    const granted = await ask(service, clientSecret, refresh).catch(async (error: unknown) => {
      await store.release(id, owner, lease.id);
      throw error;
    });
    if (!('tokens' in granted)) {
      if (!granted.isFinal) {
        await store.release(id, owner, lease.id);
        throw failed(service, `the service refuses a new token: ${granted.refusal}`);
      }
      const lost = lease.isInherited ? LOST : '';
      const problem = `The service no longer takes what it has given: ${granted.refusal}.${lost} Sign in again.`;
      await store.end(id, owner, row.version, 'revoked', problem);
      throw notReady(service, owner, problem);
    }
    const { access, refresh: next = refresh, scopes, expiresAt } = granted.tokens;
    const parts = { access, ...(next === undefined ? {} : { refresh: next }) };
    const isKept = await store.replace(id, owner, lease.id, { ...parts, scopes: scopes ?? row.scopes, expiresAt });
    // No one else knows the tokens of a connection that was deleted meanwhile.
    const isGone = !isKept && (await store.open(id, owner)) === undefined;
    if (isGone) await revoke({ service, clientSecret, credentials: [parts], count: 1 });
    if (!isKept) throw failed(service, 'its credential was replaced at the same time; try again');
    return access;
  };

  const ask = async (
    service: Resolved,
    clientSecret: string | undefined,
    refresh: string | undefined,
  ): Promise<Granted> => {
    const client = toClient(service, clientSecret);
    return service.auth === 'client_credentials'
      ? oauth.clientCredentials(client, service.scopes.join(service.scopeSeparator) || undefined)
      : oauth.refresh(client, refresh ?? '');
  };

  const hide = (value: string): string => {
    mask.addPassing(value);
    return value;
  };

  return {
    async get(service, owner, rejected) {
      const { connectionId: id, auth, header, prefix } = service;
      const row = (await store.open(id, owner))?.credential;
      requireReady(service, owner, row);
      const { key = '', username = '', password = '', access } = await store.readParts(id, owner);
      if (auth === 'api_key') return { header, value: prefix + hide(key), token: undefined };
      if (auth === 'basic') {
        hide(password);
        const value = `Basic ${hide(Buffer.from(`${username}:${password}`, 'utf8').toString('base64'))}`;
        return { header: 'authorization', value, token: undefined };
      }
      const isGood = access !== undefined && access !== rejected && !endsSoon(row);
      const token = hide(isGood ? access : await renew(service, owner, rejected));
      return { header: 'authorization', value: `Bearer ${token}`, token };
    },
  };
}

/** Throws `connection_not_ready` where the client lacks its secret. */
export function toClient(service: Resolved, clientSecret: string | undefined): OAuthClient {
  const { connectionId, tokenAuth, title } = service;
  if (tokenAuth !== 'none' && clientSecret === undefined)
    throw new BoxError(
      'connection_not_ready',
      `The connection "${connectionId}" lacks the client secret that ${title} has given. Send it as "clientSecret" with PUT /api/connections/${connectionId}/credential.`,
      { details: { connection: connectionId, state: 'needs_credential' } },
    );
  return clientOf(service, clientSecret);
}

// --- internal ---

interface Renewal {
  service: Resolved;
  owner: Owner;
  row: CredentialRow;
  lease: Lease;
  refresh: string | undefined;
  clientSecret: string | undefined;
}

/** A token that ends while a call is on its way is one that has ended. */
const EARLY_MS = 60_000;
/** Unless another one cannot be had yet. */
const LATE_MS = 10_000;
const LOOK_MS = 100;
const LONGEST_WAIT_MS = LEASE_SECONDS * 1_000 + 5_000;

const LOST = ' A process of this box ended while it was getting another, which was lost with it.';

function endsSoon({ expiresAt }: CredentialRow, withinMs = EARLY_MS): boolean {
  return expiresAt !== null && expiresAt.getTime() - withinMs < Date.now();
}

function requireReady(service: Resolved, owner: Owner, row: CredentialRow | undefined): asserts row is CredentialRow {
  if (row?.state === 'ready') return;
  throw notReady(service, owner, row?.problem ?? undefined);
}

function notReady(service: Resolved, owner: Owner, problem: string | undefined): BoxError {
  const { connectionId: id, auth, title } = service;
  const isSignIn = auth === 'oauth2';
  const state = isSignIn ? 'needs_sign_in' : 'needs_credential';
  const why = problem ?? (isSignIn ? `No one has signed in at ${title} for it.` : 'It has no credential.');
  const boxAdvice = isSignIn
    ? `POST /api/connections/${id}/authorize begins a sign-in.`
    : `Send one with PUT /api/connections/${id}/credential.`;
  const advice = owner === '' ? boxAdvice : `svc.connection('${id}').signInUrl() answers where this user signs in.`;
  return new BoxError('connection_not_ready', `The connection "${id}" cannot be used. ${why} ${advice}`, {
    details: { connection: id, state },
  });
}

function failed({ connectionId }: Resolved, why: string): BoxError {
  return new BoxError('connection_failed', `The connection "${connectionId}" failed: ${why}.`);
}
