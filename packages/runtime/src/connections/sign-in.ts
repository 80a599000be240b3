import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { BoxError } from '../errors.ts';
import type { Mask } from '../mask.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { toClient } from './credentials.ts';
import type { OAuth } from './oauth.ts';
import { resolve } from './resolve.ts';
import type { Resolved } from './resolve.ts';
import type { Revoke } from './revocation.ts';
import type { ConnectionStore, Owner } from './store.ts';

/** Where someone signs in. */
export interface SignIn {
  url: string;
  expiresAt: string;
}

export interface SignInFlow {
  /** Throws `connection_not_ready`. */
  begin(service: Resolved, owner: Owner): Promise<SignIn>;
  /** Throws `sign_in_invalid`, `sign_in_refused`, `connection_failed`. */
  finish(answer: URLSearchParams): Promise<{ id: string; title: string }>;
}

export interface SignInOptions {
  store: ConnectionStore;
  oauth: OAuth;
  key: MasterKey;
  mask: Pick<Mask, 'addPassing'>;
  callbackUrl(): string;
  revoke: Revoke;
}

/** The authorization code grant with PKCE. Whoever brings the state back ends what began with it, once. */
export function createSignInFlow({ store, oauth, key, mask, callbackUrl, revoke }: SignInOptions): SignInFlow {
  const signing = Buffer.from(hkdfSync('sha256', key.key.export(), '', 'svc connection sign-in', 32));
  return {
    async begin(service, owner) {
      const { connectionId: id, auth, authorizationUrl, scopes, scopeSeparator, params } = service;
      if (auth !== 'oauth2' || authorizationUrl === null)
        throw new BoxError(
          'connection_not_ready',
          `There is no sign-in for the connection "${id}": its service knows callers by ${auth}. Send its credential with PUT /api/connections/${id}/credential.`,
        );
      const client = toClient(service, await store.readClientSecret(id));
      const state = randomBytes(32).toString('base64url');
      const expiresAt = new Date(Date.now() + SIGN_IN_MS);
      await store.addSignIn({ stateHash: hash(state), connectionId: id, owner, expiresAt });
      const address = new URL(authorizationUrl);
      const query = {
        ...params,
        response_type: 'code',
        client_id: client.clientId,
        redirect_uri: callbackUrl(),
        state,
        code_challenge: createHash('sha256').update(toVerifier(signing, state)).digest('base64url'),
        code_challenge_method: 'S256',
        ...(scopes.length > 0 ? { scope: scopes.join(scopeSeparator) } : {}),
      };
      for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
      return { url: address.href, expiresAt: expiresAt.toISOString() };
    },
    async finish(answer) {
      const state = answer.get('state') ?? '';
      const signIn = state.length === STATE_LENGTH ? await store.takeSignIn(hash(state)) : undefined;
      const opened = signIn && (await store.open(signIn.connectionId, signIn.owner));
      if (!opened)
        throw new BoxError(
          'sign_in_invalid',
          'This sign-in has ended, was finished before, or never began here. Begin again.',
        );
      const service = resolve(opened.connection);
      const { connectionId: id, title } = service;
      const clientSecret = await store.readClientSecret(id);
      const client = toClient(service, clientSecret);
      const sent = { state, verifier: toVerifier(signing, state), redirectUri: callbackUrl() };
      const granted = await oauth.redeem(client, answer, sent);
      if (!('tokens' in granted)) throw new BoxError('sign_in_refused', `${title} refused: ${granted.refusal}.`);
      const { access, refresh, scopes, expiresAt } = granted.tokens;
      mask.addPassing(access);
      const parts = { access, ...(refresh === undefined ? {} : { refresh }) };
      const isKept = await store.setCredential(id, signIn.owner, { credential: { ...parts, scopes, expiresAt } });
      if (!isKept) {
        await revoke({ service, clientSecret, credentials: [parts], count: 1 });
        throw connectionNotFound(id);
      }
      return { id, title };
    },
  };
}

export function connectionNotFound(id: string): BoxError {
  const advice = 'GET /api/connections lists them; POST /api/connections makes one.';
  return new BoxError('connection_not_found', `There is no connection "${id}". ${advice}`);
}

// --- internal ---

const SIGN_IN_MS = 10 * 60_000;
/** 32 bytes in base64url. */
const STATE_LENGTH = 43;

function hash(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}

/** Follows from the state, so that no store holds it. */
function toVerifier(signing: Buffer, state: string): string {
  return createHmac('sha256', signing).update(state).digest('base64url');
}
