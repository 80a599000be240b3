import { createHash, createPrivateKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { PlaneError } from '../errors.ts';
import type { Sealer } from '../sealer.ts';
import type { Db, Queries } from '../store/db.ts';
import { sql } from '../store/sql.ts';

/** One of the keys that identity tokens are signed with. */
export interface SigningKey {
  kid: string;
  publicJwk: PublicJwk;
  /** Null: it is the next one, which boxes know before anything is signed with it. */
  activeAt: number | null;
  /** Null: it signs, or will. */
  retiredAt: number | null;
}

/** As the set of keys shows it. */
export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  kid: string;
  alg: 'EdDSA';
  use: 'sig';
}

const DAY = 24 * 3_600_000;
/** How long a key signs. */
export const PERIOD_MS = 30 * DAY;
/** How long it stays in the set after that. */
export const KEPT_MS = DAY;
/** Of active, next and retired ones together. */
export const MOST_KEYS = 4;

/** What a rotation by hand has done. */
export interface Rotation {
  /** The key that signs from here on. */
  kid: string;
  /** Those that are in the set no more. */
  removed: string[];
}

export interface KeyStore {
  /** Makes the first ones, or puts the next in the place of one that has signed for 30 days. Answers what is in the set. */
  rotate(now: number): Promise<SigningKey[]>;
  /**
   * Has the next key sign at once. `revoke`: none of the keys can be trusted any more, so the whole set is replaced, and what
   * they have signed is refused as soon as a box reads the set. Throws `limit_reached` while four keys are in the set.
   */
  rotateNow(now: number, options: { revoke: boolean }, audit: (tx: Queries) => Promise<void>): Promise<Rotation>;
  /** What signs as the key of that id. */
  open(kid: string): Promise<KeyObject>;
}

export function createKeyStore({ db, sealer }: { db: Db; sealer: Sealer }): KeyStore {
  return {
    async rotate(now) {
      const keys = await listKeys(db, now);
      if (!isDue(keys, now)) return keys;
      // Made before the transaction, which may be run again, and thrown away where another control plane was first.
      const made = [makeKey(sealer), makeKey(sealer)];
      return db.transaction(async (tx) => {
        // A crash before the commit leaves the set as it was; after it, the set is whole.
        await sweep(tx, now);
        const found = await listKeys(tx, now);
        return isDue(found, now) ? advance(tx, { found, made, now }) : found;
      });
    },
    async rotateNow(now, { revoke }, audit) {
      const made = [makeKey(sealer), makeKey(sealer)];
      return db.transaction(async (tx) => {
        await sweep(tx, now);
        const before = await listKeys(tx, now);
        if (!revoke && before.length >= MOST_KEYS)
          throw new PlaneError(
            'limit_reached',
            `There are ${MOST_KEYS} keys in the set: boxes still check tokens of the ones before. Try again in a day, or revoke them all.`,
          );
        if (revoke) await tx.run(sql`delete from plane_signing_keys`);
        const after = await advance(tx, { found: revoke ? [] : before, made, now });
        await audit(tx);
        const kids = new Set(after.map(({ kid }) => kid));
        return {
          kid: findActive(after)?.kid ?? '',
          removed: before.map(({ kid }) => kid).filter((kid) => !kids.has(kid)),
        };
      });
    },
    async open(kid) {
      const row = await db.get<{ privateJwk: string }>(
        sql`select private_jwk from plane_signing_keys where kid = ${kid}`,
      );
      if (!row) throw new Error(`There is no signing key "${kid}".`);
      return createPrivateKey({ key: JSON.parse(sealer.open(TABLE, kid, row.privateJwk)), format: 'jwk' });
    },
  };
}

/** Undefined: there is none yet. */
export function findActive(keys: readonly SigningKey[]): SigningKey | undefined {
  return keys.find(({ activeAt, retiredAt }) => activeAt !== null && retiredAt === null);
}

/** Whether another key has to sign from here on. */
export function isDue(keys: readonly SigningKey[], now: number): boolean {
  const active = findActive(keys);
  return !active || (now - (active.activeAt ?? 0) >= PERIOD_MS && keys.length < MOST_KEYS);
}

// --- internal ---

const TABLE = 'plane_signing_keys';

interface Made {
  kid: string;
  publicJwk: string;
  sealed: string;
}

async function sweep(tx: Queries, now: number): Promise<void> {
  await tx.run(sql`delete from plane_signing_keys where retired_at <= ${now - KEPT_MS}`);
}

/** Retires the key that signs, has the next one sign, and adds as many of the two that were made as are wanted then. */
async function advance(
  tx: Queries,
  { found, made, now }: { found: readonly SigningKey[]; made: readonly Made[]; now: number },
): Promise<SigningKey[]> {
  const active = findActive(found);
  if (active) await tx.run(sql`update plane_signing_keys set retired_at = ${now} where kid = ${active.kid}`);
  const next = found.find(({ activeAt }) => activeAt === null);
  if (next) await tx.run(sql`update plane_signing_keys set active_at = ${now} where kid = ${next.kid}`);
  for (const [at, key] of made.slice(next ? 1 : 0).entries())
    await addKey(tx, { ...key, now, activeAt: next || at > 0 ? null : now });
  return listKeys(tx, now);
}

async function listKeys(queries: Queries, now: number): Promise<SigningKey[]> {
  const rows = await queries.all<Omit<SigningKey, 'publicJwk'> & { publicJwk: string }>(
    sql`select kid, public_jwk, active_at, retired_at from plane_signing_keys
      where retired_at is null or retired_at > ${now - KEPT_MS} order by created_at, kid`,
  );
  return rows.map((row) => ({ ...row, publicJwk: JSON.parse(row.publicJwk) as PublicJwk }));
}

function makeKey(sealer: Sealer): Made {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  // The thumbprint of RFC 7638: its members in the order of the alphabet.
  const kid = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
  const publicJwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
  const sealed = sealer.seal(TABLE, kid, JSON.stringify(privateKey.export({ format: 'jwk' })));
  return { kid, publicJwk: JSON.stringify(publicJwk), sealed };
}

async function addKey(
  tx: Queries,
  { kid, publicJwk, sealed, now, activeAt }: Made & { now: number; activeAt: number | null },
): Promise<void> {
  await tx.run(
    sql`insert into plane_signing_keys (kid, public_jwk, private_jwk, created_at, active_at)
      values (${kid}, ${publicJwk}, ${sealed}, ${now}, ${activeAt})`,
  );
}
