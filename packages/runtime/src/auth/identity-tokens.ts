import { createHash } from 'node:crypto';
import type { JWK, JWTPayload, JWTVerifyOptions } from 'jose';
import { createLru } from '../lru.ts';
import { BoxError } from '../errors.ts';
import { toPerson } from './caller.ts';
import type { Caller } from './caller.ts';
import type { KeySet } from './key-set.ts';
import { isClaimText, peekToken, PUBLIC_KEY_ALGORITHMS, SKEW_S, tokenRefused, toReason } from './jwt.ts';
import { findRole } from './permissions.ts';

/** Which part of the box a credential is presented to: an identity token is good for one of them. */
export type Audience = 'box' | 'mcp';

/** What the control plane vouches for. */
export interface IdentityTokens {
  issuer: string;
  /** Throws `unauthorized`, `forbidden` for a role there is not, `identity_keys_unavailable`. */
  verify(token: string, audience: Audience): Promise<Caller>;
}

export interface IdentityTokensOptions {
  /** The control plane's address, without a slash at the end: issuer, audiences and key set derive from it. */
  issuer: string;
  /** The only installation whose tokens are admitted. */
  installationId: string;
  keys: KeySet;
  now(): number;
}

/** Where the keys of a control plane are. */
export function keySetUrl(issuer: string): string {
  return `${issuer}/.well-known/jwks.json`;
}

export function createIdentityTokens({ issuer, installationId, keys, now }: IdentityTokensOptions): IdentityTokens {
  // Checked once per token and key: by digest, so that no credential lies about in memory.
  const verified = createLru<{ caller: Caller; key: JWK; until: number }>(MAX_KNOWN);

  const findKey = async (token: string): Promise<JWK> => {
    const { alg, kid, typ, crit } = peekToken(token)?.header ?? {};
    // Before anything is asked of the control plane: whatever a token says of itself must not make us fetch.
    if (!PUBLIC_KEY_ALGORITHMS.includes(String(alg)) || typ !== TYPE || crit !== undefined || !isClaimText(kid))
      throw tokenRefused('no identity token');
    const set = await keys.read(kid);
    const key = set.keys.find((one) => one.kid === kid);
    if (!key) throw tokenRefused('signed with a key the control plane does not have');
    return key;
  };
  const check = async (token: string, audience: Audience, key: JWK): Promise<Caller> => {
    const jose = await import('jose');
    const options: JWTVerifyOptions = {
      algorithms: PUBLIC_KEY_ALGORITHMS,
      issuer,
      audience: `${issuer}/${audience}`,
      typ: TYPE,
      requiredClaims: ['sub', 'iat', 'exp'],
      clockTolerance: SKEW_S,
      maxTokenAge: LIFETIME_S,
      currentDate: new Date(now()),
    };
    const { payload } = await jose
      .jwtVerify(token, jose.createLocalJWKSet({ keys: [key] }), options)
      .catch((error: unknown) => {
        throw tokenRefused(toReason(error, SIGNER));
      });
    return toCaller(payload, installationId);
  };

  return {
    issuer,
    async verify(token, audience) {
      const digest = createHash('sha256').update(`${audience} ${token}`).digest('base64url');
      // Also of one that is known: the key it is signed with may have been taken out of the set since.
      const key = await findKey(token);
      const known = verified.get(digest);
      if (known && known.key === key && known.until > now()) return known.caller;
      const caller = await check(token, audience, key);
      verified.set(digest, { caller, key, until: caller.expiresAt ?? 0 });
      return caller;
    },
  };
}

// --- internal ---

const TYPE = 'svc-identity+jwt';
/** From `iat` to `exp`. */
const LIFETIME_S = 330;
const MAX_KNOWN = 10_000;
const SIGNER = { other: 'of another control plane', unsigned: 'not signed by the control plane' };

function toCaller(payload: JWTPayload, installationId: string): Caller {
  const { sub = '', aud, iat = 0, exp = 0, inst, name, org, role: roleName } = payload;
  if (typeof aud !== 'string') throw tokenRefused('for more than one audience');
  if (exp - iat > LIFETIME_S) throw tokenRefused(`good for longer than ${LIFETIME_S} s`);
  if (!isClaimText(sub) || !isClaimText(org)) throw tokenRefused('without a person or an organization');
  if (inst !== installationId) throw tokenRefused('for another installation');
  const role = findRole(roleName);
  if (!role) throw new BoxError('forbidden', 'The identity token names a role this box does not know.');
  return toPerson({ sub, name: isClaimText(name) ? name : sub, role, expiresAt: (exp + SKEW_S) * 1_000 });
}
