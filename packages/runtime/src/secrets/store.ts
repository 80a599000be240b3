import { and, eq, inArray, sql } from 'drizzle-orm';
import { BoxError } from '../errors.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { secrets } from './table.ts';
import { seal, unseal } from './seal.ts';
import type { MasterKey, SealPlace } from './seal.ts';

export interface SecretStore {
  /** Seals and stores the value; the one before it is gone. */
  set(name: string, value: string): Promise<void>;
  /** Undefined: there is no such secret. */
  get(name: string): Promise<string | undefined>;
  /** Those of these names that there are, by name, in one look. */
  getMany(names: readonly string[]): Promise<Map<string, string>>;
  has(name: string): Promise<boolean>;
  /** False: there was none. */
  delete(name: string): Promise<boolean>;
  /** The same secrets, read and changed in a transaction. */
  within(tx: Drizzle): SecretStore;
  /** The values of all secrets of the installation, whoever owns them. Those that cannot be read are left out. */
  values(): Promise<string[]>;
}

export interface SecretStoreOptions {
  db: Drizzle;
  /** May still be on its way; every call waits for it. */
  key: MasterKey | Promise<MasterKey>;
  /** The installation's id; likewise. */
  installation: string | Promise<string>;
  /** Whose secrets these are. Names of different owners do not meet. */
  owner?: string;
}

export function createSecretStore(options: SecretStoreOptions): SecretStore {
  const { db, key, installation, owner = 'system' } = options;
  const at = (name: string) => and(eq(secrets.owner, owner), eq(secrets.name, name));
  const placeOf = async (name: string, version: number, whose = owner): Promise<SealPlace> => {
    return { table: 'secrets', installation: await installation, name: `${whose}/${name}`, version };
  };
  return {
    async set(name, value) {
      const master = await key;
      // The version is part of what the value is sealed for: a set that lost a race reads it and seals again.
      for (let attempt = 0; attempt < SET_ATTEMPTS; attempt++) {
        const [row] = await db.select({ version: secrets.version }).from(secrets).where(at(name));
        const version = (row?.version ?? 0) + 1;
        const sealed = seal(master, await placeOf(name, version), value);
        const stored = await db
          .insert(secrets)
          .values({ owner, name, version, sealed })
          .onConflictDoUpdate({
            target: [secrets.owner, secrets.name],
            set: { version, sealed, setAt: sql`now()` },
            setWhere: eq(secrets.version, version - 1),
          })
          .returning({ version: secrets.version });
        if (stored.length > 0) return;
      }
      throw new BoxError('store_unavailable', `The secret "${name}" is being set by many callers at once. Try again.`);
    },
    async get(name) {
      const [row] = await db.select().from(secrets).where(at(name));
      return row && unseal(await key, await placeOf(name, row.version), row.sealed);
    },
    async getMany(names) {
      const master = await key;
      const rows = await db
        .select()
        .from(secrets)
        .where(and(eq(secrets.owner, owner), inArray(secrets.name, [...names])));
      const values = rows.map(async ({ name, version, sealed }) => {
        return [name, unseal(master, await placeOf(name, version), sealed)] as const;
      });
      return new Map(await Promise.all(values));
    },
    async has(name) {
      const rows = await db.select({ name: secrets.name }).from(secrets).where(at(name));
      return rows.length > 0;
    },
    async delete(name) {
      const rows = await db.delete(secrets).where(at(name)).returning({ name: secrets.name });
      return rows.length > 0;
    },
    within: (tx) => createSecretStore({ ...options, db: tx }),
    async values() {
      const master = await key;
      const rows = await db.select().from(secrets);
      const values = rows.map(async ({ owner: whose, name, version, sealed }) => {
        const place = await placeOf(name, version, whose);
        try {
          return [unseal(master, place, sealed)];
        } catch {
          return [];
        }
      });
      return (await Promise.all(values)).flat();
    },
  };
}

// --- internal ---

const SET_ATTEMPTS = 20;
