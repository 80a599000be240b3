import type * as Library from 'openid-client';
import type { FullSettings } from '../config.ts';
import { PlaneError } from '../errors.ts';
import type { Log } from '../../../runtime/src/log.ts';

/** The provider of PLANE_OIDC_ISSUER. */
export interface Oidc {
  /** Where a browser goes, and what has to be known when it comes back. Throws `provider_unavailable`. */
  begin(): Promise<{ url: string; checks: Checks }>;
  /** Who has come back. Throws `sign_in_failed`, `email_unverified`, `provider_unavailable`. */
  finish(search: string, checks: Checks): Promise<Identity>;
}

/** Against answers that were meant for another browser, another sign-in or another client. */
export interface Checks {
  state: string;
  nonce: string;
  verifier: string;
}

export interface Identity {
  /** What the provider calls the person, with the provider: an address may pass to another, this does not. */
  subject: string;
  /** Of which the provider says that it is the person's. */
  email: string;
  name: string;
}

export interface OidcOptions {
  full: Pick<FullSettings, 'oidc'>;
  log: Log;
  publicUrl(): string;
  now(): number;
}

export const CALLBACK = '/api/v1/auth/oidc/callback';

/** Undefined: people sign in with passwords alone. */
export function createOidc({ full: { oidc }, log, publicUrl, now }: OidcOptions): Oidc | undefined {
  if (!oidc) return undefined;
  let known: { at: number; client: Promise<Client> } | undefined;
  /** Asked for again after an hour, so that what the provider changes is seen, and at once when it did not answer. */
  const findClient = (): Promise<Client> => {
    if (known && now() - known.at < KNOWN_FOR) return known.client;
    const client = discover(oidc);
    known = { at: now(), client };
    client.catch(() => (known = undefined));
    return client;
  };
  const unavailable = (cause: unknown): PlaneError => {
    log.warn('The OpenID Connect provider did not answer as it should.', { issuer: oidc.issuer, error: cause });
    return new PlaneError('provider_unavailable', 'The OpenID Connect provider does not answer. Try again later.');
  };
  return {
    async begin() {
      const { library, config } = await findClient().catch((error: unknown) => {
        throw unavailable(error);
      });
      const verifier = library.randomPKCECodeVerifier();
      const checks = { state: library.randomState(), nonce: library.randomNonce(), verifier };
      const url = library.buildAuthorizationUrl(config, {
        redirect_uri: `${publicUrl()}${CALLBACK}`,
        scope: 'openid email profile',
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, checks };
    },
    async finish(search, { state, nonce, verifier }) {
      const { library, config } = await findClient().catch((error: unknown) => {
        throw unavailable(error);
      });
      try {
        const answer = await library.authorizationCodeGrant(config, new URL(`${publicUrl()}${CALLBACK}${search}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = answer.claims();
        if (!claims) throw new Error('There is no ID token.');
        // Some say it in the token, some when they are asked.
        const more =
          claims.email === undefined && config.serverMetadata().userinfo_endpoint !== undefined
            ? await library.fetchUserInfo(config, answer.access_token, claims.sub)
            : {};
        return toIdentity(config.serverMetadata().issuer, { ...more, ...claims });
      } catch (error) {
        if (error instanceof PlaneError) throw error;
        log.warn('A sign-in at the OpenID Connect provider has failed.', { issuer: oidc.issuer, error });
        throw new PlaneError('sign_in_failed', 'The sign-in at the provider has failed. Begin again.');
      }
    },
  };
}

// --- internal ---

const KNOWN_FOR = 3_600_000;
const TIMEOUT_SECONDS = 10;

interface Client {
  library: typeof Library;
  config: Library.Configuration;
}

async function discover({ issuer, clientId, clientSecret }: NonNullable<FullSettings['oidc']>): Promise<Client> {
  const library = await import('openid-client');
  const url = new URL(issuer);
  const config = await library.discovery(url, clientId, clientSecret, undefined, {
    timeout: TIMEOUT_SECONDS,
    // The signature, too, though the token comes from the provider itself: a proxy may end TLS in between.
    execute: [library.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [library.allowInsecureRequests] : [])],
  });
  return { library, config };
}

function toIdentity(issuer: string, claims: Record<string, unknown> & { sub: string }): Identity {
  const { sub, email, email_verified: isVerified, name } = claims;
  if (typeof email !== 'string' || email.length > 254 || isVerified !== true)
    throw new PlaneError(
      'email_unverified',
      'The provider does not say that your e-mail address is yours. Confirm it there, then sign in again.',
    );
  const shown =
    typeof name === 'string'
      ? name
          .replace(/\p{Cc}/gu, ' ')
          .trim()
          .slice(0, 100)
      : '';
  const address = email.trim().toLowerCase();
  return {
    subject: `${issuer} ${sub}`,
    email: address,
    name: shown === '' ? (address.split('@')[0] ?? address) : shown,
  };
}
