import { and, eq, isNull, lt, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import { newRunId } from '../engine/ids.ts';
import type { SecretStore } from '../secrets/store.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { ConnectionStore, CredentialParts, NewCredential, Owner } from './store.ts';
import { connectionCredentials, connections } from './table.ts';

type CredentialRows = Pick<ConnectionStore, 'setCredential' | 'readParts' | 'lease' | 'replace' | 'release' | 'end'>;

/** What is known of credentials, with what they consist of among the secrets: both change as one. */
export function createCredentialRows(db: Drizzle, vault: () => Promise<SecretStore>): CredentialRows {
  /** Its parts, in place of those there were. */
  const writeParts = async (store: SecretStore, id: string, owner: Owner, parts: CredentialParts): Promise<void> => {
    for (const part of PARTS) {
      const value = parts[part];
      const name = nameOf(id, owner, part);
      await (value === undefined ? store.delete(name) : store.set(name, value));
    }
  };

  return {
    async setCredential(id, owner, { credential, clientSecret }) {
      const store = await vault();
      return db.transaction(async (tx) => {
        if (!(await touch(tx, id))) return false;
        if (clientSecret !== undefined) await store.within(tx).set(clientName(id), clientSecret);
        if (credential === undefined) return true;
        const known = { ...toRow(credential), leaseId: null, leaseUntil: null, setAt: new Date() };
        await tx
          .insert(connectionCredentials)
          .values({ connectionId: id, owner, version: 1, ...known })
          .onConflictDoUpdate({
            target: [connectionCredentials.connectionId, connectionCredentials.owner],
            set: { ...known, version: sql`${connectionCredentials.version} + 1` },
          });
        await writeParts(store.within(tx), id, owner, credential);
        return true;
      });
    },
    async readParts(id, owner) {
      const store = await vault();
      return pick(await store.getMany(namesOf(id, owner)), id, owner);
    },
    async lease(id, owner, version) {
      const leaseId = newRunId();
      const take = async (isFree: SQL): Promise<boolean> => {
        const rows = await db
          .update(connectionCredentials)
          .set({ leaseId, leaseUntil: sql`now() + interval '1 second' * ${LEASE_SECONDS}` })
          .where(and(at(id, owner), eq(connectionCredentials.version, version), isFree))
          .returning({ version: connectionCredentials.version });
        return rows.length > 0;
      };
      if (await take(isNull(connectionCredentials.leaseUntil))) return { id: leaseId, isInherited: false };
      const isInherited = await take(lt(connectionCredentials.leaseUntil, sql`now()`));
      return isInherited ? { id: leaseId, isInherited } : undefined;
    },
    async replace(id, owner, lease, credential) {
      const store = await vault();
      return db.transaction(async (tx) => {
        const rows = await tx
          .update(connectionCredentials)
          .set({
            ...toRow(credential),
            version: sql`${connectionCredentials.version} + 1`,
            leaseId: null,
            leaseUntil: null,
            setAt: new Date(),
          })
          .where(and(at(id, owner), eq(connectionCredentials.leaseId, lease)))
          .returning({ version: connectionCredentials.version });
        if (rows.length === 0) return false;
        await writeParts(store.within(tx), id, owner, credential);
        return true;
      });
    },
    async release(id, owner, lease) {
      await db
        .update(connectionCredentials)
        .set({ leaseId: null, leaseUntil: null })
        .where(and(at(id, owner), eq(connectionCredentials.leaseId, lease)));
    },
    async end(id, owner, version, state, problem) {
      const store = await vault();
      await db.transaction(async (tx) => {
        const rows = await tx
          .update(connectionCredentials)
          .set({ state, problem, leaseId: null, leaseUntil: null, version: version + 1 })
          .where(and(at(id, owner), eq(connectionCredentials.version, version)))
          .returning({ version: connectionCredentials.version });
        if (rows.length > 0) await writeParts(store.within(tx), id, owner, {});
      });
    },
  };
}

/** Among the secrets: those of the workspace have another. */
export const SECRET_OWNER = 'connections';

/** Of the secret of a client, among the secrets. */
export function clientName(id: string): string {
  return JSON.stringify([id, 'client']);
}

/** Holds the connection until the transaction ends: none is deleted under its credential. False: there is none. */
async function touch(tx: Drizzle, id: string): Promise<boolean> {
  const rows = await tx
    .update(connections)
    .set({ updatedAt: new Date() })
    .where(eq(connections.id, id))
    .returning({ id: connections.id });
  return rows.length > 0;
}

/** What the credentials of these owners consist of. */
export async function readAllParts(
  store: SecretStore,
  id: string,
  owners: readonly Owner[],
): Promise<CredentialParts[]> {
  const values = await store.getMany(owners.flatMap((owner) => namesOf(id, owner)));
  return owners.map((owner) => pick(values, id, owner));
}

/** How long one process has for a new token: the longest answer of a service, and more. */
export const LEASE_SECONDS = 30;

// --- internal ---

const PARTS = ['key', 'username', 'password', 'access', 'refresh'] as const;

/** No two are the same text, whatever an owner is called. */
function nameOf(id: string, owner: Owner, part: string): string {
  return JSON.stringify([id, owner, part]);
}

function namesOf(id: string, owner: Owner): string[] {
  return PARTS.map((part) => nameOf(id, owner, part));
}

function pick(values: ReadonlyMap<string, string>, id: string, owner: Owner): CredentialParts {
  const parts = PARTS.map((part) => [part, values.get(nameOf(id, owner, part))]);
  return Object.fromEntries(parts.filter(([, value]) => value !== undefined)) as CredentialParts;
}

function at(id: string, owner: Owner) {
  return and(eq(connectionCredentials.connectionId, id), eq(connectionCredentials.owner, owner));
}

function toRow({ scopes = null, expiresAt = null }: NewCredential) {
  return { state: 'ready' as const, problem: null, scopes, expiresAt };
}
