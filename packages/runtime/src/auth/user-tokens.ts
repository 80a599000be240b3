import { createHash, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { CryptoKey, JWK, JWTPayload, JWTVerifyOptions } from 'jose';
import { createLru } from '../lru.ts';
import { z } from 'zod';
import type { EndUser } from '../engine/started-by.ts';
import { inspectJson } from '../http/body.ts';
import { narrowGrants, toUser } from './caller.ts';
import type { Caller } from './caller.ts';
import { isClaimText, peekToken, PUBLIC_KEY_ALGORITHMS, SKEW_S, tokenRefused, toReason } from './jwt.ts';
import type { Signer, Unchecked } from './jwt.ts';
import type { KeySet } from './key-set.ts';

/** What the workspace's own provider of identity signs for the users of one client. */
export interface UsersProvider {
  /** Compared as it is written with the claim `iss`. */
  issuer: string;
  /** Compared as it is written with the claim `aud`. */
  audience: string;
  /** Where its public keys are. */
  jwksUrl: string;
  /** The application whose users they are. Its newest key with `users` says what they may do. */
  client: string;
}

/** Signed tokens of end users, such as a browser may hold. */
export interface UserTokens {
  /** Whether the credential says that it is one. */
  isOne(credential: string): boolean;
  /** Throws `unauthorized`, `identity_keys_unavailable`. */
  verify(token: string): Promise<Caller>;
}

/** A key that speaks for users. */
export interface Speaker {
  /** Throws `unauthorized` when it is revoked or expired, or does not speak for users. */
  toCaller(): Caller;
  /** What it signs tokens with. Undefined: it has none. */
  readSecret(): Promise<Uint8Array | undefined>;
}

/** What knows the API keys: a room above. */
export interface Speakers {
  findSpeaker(keyId: string): Promise<Speaker | undefined>;
  /** The newest key of the client that speaks for users and is good. */
  findSpeakerOf(client: string): Promise<Speaker | undefined>;
}

export interface UserTokensOptions {
  speakers: Speakers;
  /** As it is in force at a request. */
  provider(): UsersProvider | undefined;
  openKeySet(url: string): KeySet;
  now(): number;
}

/** An id as a client calls one of its users: of a token, and of the header. */
export const USER_ID = /^[!-~\u00a1-\uffff]{1,256}$/;

export function createUserTokens({ speakers, provider, openKeySet, now }: UserTokensOptions): UserTokens {
  // What a token says, checked once. Whether its key is good is asked each time.
  const verified = createLru<{ claims: UserClaims; by: SignedBy['by']; until: number }>(MAX_KNOWN);
  let keySet: { url: string; keys: KeySet } | undefined;

  const readKeys = (url: string): KeySet => {
    if (keySet?.url !== url) keySet = { url, keys: openKeySet(url) };
    return keySet.keys;
  };
  const check = async (token: string, signedBy: SignedBy): Promise<UserClaims> => {
    const { issuer = '', audience = '' } = signedBy.options;
    const digest = createHash('sha256')
      .update(JSON.stringify([issuer, audience, token]))
      .digest('base64url');
    const known = verified.get(digest);
    if (known && known.by === signedBy.by && known.until > now()) return known.claims;
    const jose = await import('jose');
    const options: JWTVerifyOptions = {
      ...signedBy.options,
      requiredClaims: ['sub', 'iat', 'exp'],
      clockTolerance: SKEW_S,
      maxTokenAge: LIFETIME_S,
      currentDate: new Date(now()),
    };
    const { payload } = await jose
      .jwtVerify(token, async () => signedBy.readKey(jose.importJWK), options)
      .catch((error: unknown) => {
        throw tokenRefused(toReason(error, signedBy.signer));
      });
    const claims = readClaims(payload);
    verified.set(digest, { claims, by: signedBy.by, until: claims.expiresAt });
    return claims;
  };
  const verifyOfKey = async (token: string, { alg, kid, crit }: Unchecked): Promise<Caller> => {
    if (alg !== 'HS256' || crit !== undefined || !isClaimText(kid)) throw tokenRefused('no user token');
    const speaker = await speakers.findSpeaker(kid);
    const secret = await speaker?.readSecret();
    if (!speaker || !secret) throw tokenRefused('signed with a key that signs no user tokens here');
    const options = { algorithms: ['HS256'], typ: USER_TOKEN_TYPE };
    const signer = { other: 'of another issuer', unsigned: `not signed with the "userSecret" of the key "${kid}"` };
    const claims = await check(token, { by: kid, options, signer, readKey: () => createSecretKey(secret) });
    return toTokenUser(speaker.toCaller(), claims);
  };
  const verifyOfProvider = async (token: string, header: Unchecked, from: UsersProvider): Promise<Caller> => {
    const { alg, kid, crit } = header;
    // Before anything is asked of the provider: whatever a token says of itself must not make us fetch.
    if (!PUBLIC_KEY_ALGORITHMS.includes(String(alg)) || crit !== undefined || !isClaimText(kid))
      throw tokenRefused('no user token');
    const set = await readKeys(from.jwksUrl).read(kid);
    const key = set.keys.find((one) => one.kid === kid);
    if (!key) throw tokenRefused('signed with a key its issuer does not have');
    const { issuer, audience } = from;
    const options = { algorithms: PUBLIC_KEY_ALGORITHMS, issuer, audience };
    const signer = { other: 'of another issuer', unsigned: 'not signed by its issuer' };
    const readKey: SignedBy['readKey'] = (importJWK) => importJWK(key, String(alg));
    const claims = await check(token, { by: key, options, signer, readKey });
    const speaker = await speakers.findSpeakerOf(from.client);
    if (!speaker) throw tokenRefused(`for the client "${from.client}", which has no key with "users": true`);
    return toTokenUser(speaker.toCaller(), claims);
  };
  const findProvider = ({ iss }: Unchecked): UsersProvider | undefined => {
    const from = provider();
    return from !== undefined && iss === from.issuer ? from : undefined;
  };

  return {
    isOne(credential) {
      const peeked = peekToken(credential);
      if (!peeked || peeked.header.typ === IDENTITY_TYPE) return false;
      return peeked.header.typ === USER_TOKEN_TYPE || findProvider(peeked.payload) !== undefined;
    },
    async verify(token) {
      const { header = {}, payload = {} } = peekToken(token) ?? {};
      const from = findProvider(payload);
      return from ? verifyOfProvider(token, header, from) : verifyOfKey(token, header);
    },
  };
}

// --- internal ---

const USER_TOKEN_TYPE = 'svc-user+jwt';
/** Of people with a seat: whoever issues both must not have one taken for the other. */
const IDENTITY_TYPE = 'svc-identity+jwt';
/** From `iat` to `exp`. */
const LIFETIME_S = 3_600;
const MAX_KNOWN = 10_000;
const MAX_DATA_BYTES = 4_096;

interface SignedBy {
  /** The key as it is kept: another one, of the same id, too, has signed nothing that is known. */
  by: JWK | string;
  options: JWTVerifyOptions;
  signer: Signer;
  readKey(
    importJWK: (key: JWK, alg: string) => Promise<CryptoKey | Uint8Array>,
  ): KeyObject | ReturnType<typeof importJWK>;
}

const Names = z.array(z.string().min(1).max(256)).max(1_000).optional();

const Claims = z.object({
  sub: z.string().regex(USER_ID),
  name: z.string().min(1).max(256).optional(),
  agents: Names,
  workflows: Names,
  data: z.record(z.string(), z.unknown()).optional(),
});

interface UserClaims {
  user: EndUser;
  agents: string[] | undefined;
  workflows: string[] | undefined;
  /** In milliseconds since 1970. */
  expiresAt: number;
}

function readClaims(payload: JWTPayload): UserClaims {
  const { aud, iat = 0, exp = 0 } = payload;
  if (Array.isArray(aud)) throw tokenRefused('for more than one audience');
  if (exp - iat > LIFETIME_S) throw tokenRefused(`good for longer than ${LIFETIME_S} s`);
  const { data: claims, error } = Claims.safeParse(payload);
  if (!claims) throw tokenRefused(`not complete: "${String(error.issues[0]?.path[0])}"`);
  const { sub: id, name, data, agents, workflows } = claims;
  if (data !== undefined && !isSmall(data))
    throw tokenRefused('not complete: "data" is more than an object of 4 KiB and 64 levels');
  const user = { id, ...(name === undefined ? {} : { name }), ...(data === undefined ? {} : { data }) };
  return { user, agents, workflows, expiresAt: (exp + SKEW_S) * 1_000 };
}

function isSmall(data: Record<string, unknown>): boolean {
  try {
    inspectJson(data);
  } catch {
    return false;
  }
  return Buffer.byteLength(JSON.stringify(data)) <= MAX_DATA_BYTES;
}

/** What the key may do, where the token does not say less, until either is over. */
function toTokenUser(key: Caller, { user, agents, workflows, expiresAt }: UserClaims): Caller {
  return {
    ...toUser(key, user),
    by: 'user token',
    grants: narrowGrants(key.grants, { agents, workflows }),
    expiresAt: Math.min(expiresAt, key.expiresAt ?? Infinity),
  };
}
