import { createHash } from 'node:crypto';
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import { LRUCache } from 'lru-cache';
import { BoxError } from '../errors.ts';
import { toPerson } from './caller.ts';
import type { Caller } from './caller.ts';
import type { KeySet } from './key-set.ts';
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
  // Checked once per token: by digest, so that no credential lies about in memory.
  const verified = new LRUCache<string, { caller: Caller; until: number }>({ max: MAX_KNOWN });

  const check = async (token: string, audience: Audience): Promise<Caller> => {
    const jose = await import('jose');
    const { alg, kid, typ, crit } = readHeader(() => jose.decodeProtectedHeader(token));
    // Before anything is asked of the control plane: whatever a token says of itself must not make us fetch.
    if (!ALGORITHMS.includes(alg ?? '') || typ !== TYPE || crit !== undefined || !kid)
      throw refused('no identity token');
    const set = await keys.read(kid);
    const key = set.keys.find((one) => one.kid === kid);
    if (!key) throw refused('signed with a key the control plane does not have');
    const options: JWTVerifyOptions = {
      algorithms: ALGORITHMS,
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
        throw refused(toReason(error));
      });
    return toCaller(payload, installationId);
  };

  return {
    issuer,
    async verify(token, audience) {
      const digest = createHash('sha256').update(`${audience} ${token}`).digest('base64url');
      const known = verified.get(digest);
      if (known && known.until > now()) return known.caller;
      const caller = await check(token, audience);
      verified.set(digest, { caller, until: caller.expiresAt ?? 0 });
      return caller;
    },
  };
}

// --- internal ---

/** Fixed here: a header chooses among them and adds nothing. */
const ALGORITHMS = ['EdDSA', 'ES256', 'RS256'];
const TYPE = 'svc-identity+jwt';
const SKEW_S = 30;
/** From `iat` to `exp`. */
const LIFETIME_S = 330;
const MAX_KNOWN = 10_000;
const MAX_TEXT = 256;

function readHeader<T>(read: () => T): T {
  try {
    return read();
  } catch {
    throw refused('no identity token');
  }
}

function toCaller(payload: JWTPayload, installationId: string): Caller {
  const { sub = '', aud, iat = 0, exp = 0, inst, name, org, role: roleName } = payload;
  if (typeof aud !== 'string') throw refused('for more than one audience');
  if (exp - iat > LIFETIME_S) throw refused(`good for longer than ${LIFETIME_S} s`);
  if (!isText(sub) || !isText(org)) throw refused('without a person or an organization');
  if (inst !== installationId) throw refused('for another installation');
  const role = findRole(roleName);
  if (!role) throw new BoxError('forbidden', 'The identity token names a role this box does not know.');
  return toPerson({ sub, name: isText(name) ? name : sub, role, expiresAt: (exp + SKEW_S) * 1_000 });
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT;
}

function toReason(error: unknown): string {
  const { code, claim } = error as { code?: string; claim?: string };
  if (code === 'ERR_JWT_EXPIRED') return 'over';
  if (claim === 'aud') return 'for another address than this';
  if (claim === 'iss') return 'of another control plane';
  if (claim === 'iat' || claim === 'nbf') return 'from another time';
  if (claim !== undefined) return `not complete: "${claim}"`;
  return 'not signed by the control plane';
}

function refused(why: string): BoxError {
  // An `expired` one is the client's to replace; about the others it can do nothing.
  const options = why === 'over' ? { details: { reason: 'expired' } } : {};
  return new BoxError('unauthorized', `The credential is not accepted: it is ${why}.`, options);
}
