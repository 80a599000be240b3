import { randomUUID } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Role } from '../roles.ts';
import { findActive, isDue } from './key-store.ts';
import type { KeyStore, PublicJwk, SigningKey } from './key-store.ts';

/** Which part of a box a token opens. */
export type Use = 'operate' | 'mcp';

/** Whom the control plane vouches for, and where. */
export interface Identity {
  userId: string;
  name: string;
  /** The installation's, whichever the caller acts in. */
  organizationId: string;
  installationId: string;
  role: Role;
  use: Use;
  source: 'dashboard' | 'cli' | 'mcp';
}

export interface Signer {
  /** A token that a box takes for five minutes; `expiresAt`, its `exp`, in milliseconds since 1970: half a minute before that. */
  sign(identity: Identity): Promise<{ token: string; expiresAt: number }>;
  /** The keys that tokens are checked with: of what has signed, of what signs and of what will. */
  listPublic(): Promise<PublicJwk[]>;
}

export interface SignerOptions {
  keys: KeyStore;
  now(): number;
  /** Without a slash at the end. */
  publicUrl(): string;
}

export function createSigner({ keys: store, now, publicUrl }: SignerOptions): Signer {
  let known: { keys: SigningKey[]; readAt: number } | undefined;
  let reading: Promise<SigningKey[]> | undefined;
  let opened: { kid: string; key: KeyObject } | undefined;

  const readAgain = async (): Promise<SigningKey[]> => {
    const keys = await store.rotate(now());
    known = { keys, readAt: now() };
    return keys;
  };
  const read = async (): Promise<SigningKey[]> => {
    const time = now();
    if (known && Math.abs(time - known.readAt) < FRESH_MS && !isDue(known.keys, time)) return known.keys;
    return (reading ??= readAgain().finally(() => (reading = undefined)));
  };
  const openActive = async (): Promise<{ kid: string; key: KeyObject }> => {
    const active = findActive(await read());
    if (!active) throw new Error('There is no active signing key.');
    if (opened?.kid !== active.kid) opened = { kid: active.kid, key: await store.open(active.kid) };
    return opened;
  };

  return {
    async sign({ userId, name, organizationId, installationId, role, use, source }) {
      const { kid, key } = await openActive();
      const issuer = publicUrl();
      const iat = Math.floor(now() / 1_000) - EARLY_S;
      const exp = iat + LIFETIME_S;
      const claims = { org: organizationId, inst: installationId, role, name, src: source };
      const token = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'svc-identity+jwt' })
        .setIssuer(issuer)
        .setAudience(`${issuer}/${AUDIENCES[use]}`)
        .setSubject(userId)
        .setJti(randomUUID())
        .setIssuedAt(iat)
        .setExpirationTime(exp)
        .sign(key);
      return { token, expiresAt: exp * 1_000 };
    },
    listPublic: async () => (await read()).map(({ publicJwk }) => publicJwk),
  };
}

// --- internal ---

/** From `iat` to `exp`. */
const LIFETIME_S = 300;
/** A box takes a token of its own next half minute, and one that ended in its last: with as much of ours it may be a minute behind. */
const EARLY_S = 30;
const AUDIENCES: Record<Use, string> = { operate: 'box', mcp: 'mcp' };
/** After which another control plane on the database may have rotated: its key was in the set 30 days before. */
const FRESH_MS = 60_000;
