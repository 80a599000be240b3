import { eq } from 'drizzle-orm';
import type { MasterKey } from '../secrets/seal.ts';
import { createSecretStore } from '../secrets/store.ts';
import type { SecretStore } from '../secrets/store.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { settings } from '../stores/table.ts';
import type { StoredBrowser } from './settings.ts';

/** Keeps the settings of the browser: its key is sealed among the secrets, and read and written with the address as one. */
export interface BrowserStore {
  read(): Promise<StoredBrowser>;
  /** Stores what `change` makes of what is stored; what that throws is thrown. */
  update(change: (stored: StoredBrowser) => StoredBrowser): Promise<void>;
  /** Nothing may be there. */
  remove(): Promise<void>;
}

export interface BrowserStoreOptions {
  db: Drizzle;
  key: MasterKey;
  installation(): Promise<string>;
}

export function createBrowserStore({ db, key, installation }: BrowserStoreOptions): BrowserStore {
  /** Asked for before a transaction begins: it may have to look for what it seals for. */
  const vault = async (): Promise<SecretStore> => createSecretStore({ db, key, installation: await installation() });
  const readRow = async (tx: Drizzle, secrets: SecretStore): Promise<StoredBrowser> => {
    const [found] = await tx.select({ value: settings.value }).from(settings).where(row);
    const { endpoint, ...stored } = (found?.value ?? {}) as StoredBrowser;
    if (!endpoint) return stored;
    const apiKey = await secrets.within(tx).get(SECRET);
    return { ...stored, endpoint: { ...endpoint, ...(apiKey === undefined ? {} : { apiKey }) } };
  };
  return {
    async read() {
      const secrets = await vault();
      const how = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const;
      return db.transaction((tx) => readRow(tx, secrets), how);
    },
    async update(change) {
      const secrets = await vault();
      await db.transaction(async (tx) => {
        // A row to hold: two changes at once are made one after the other.
        await tx.insert(settings).values({ key: SETTING, value: {} }).onConflictDoNothing();
        await tx.select({ key: settings.key }).from(settings).where(row).for('update');
        const { endpoint, ...stored } = change(await readRow(tx, secrets));
        const { apiKey, ...address } = endpoint ?? {};
        const value = { ...stored, ...(endpoint ? { endpoint: address } : {}) };
        await tx.update(settings).set({ value, updatedAt: new Date() }).where(row);
        const sealed = secrets.within(tx);
        await (apiKey === undefined ? sealed.delete(SECRET) : sealed.set(SECRET, apiKey));
      });
    },
    async remove() {
      const secrets = await vault();
      await db.transaction(async (tx) => {
        await tx.delete(settings).where(row);
        await secrets.within(tx).delete(SECRET);
      });
    },
  };
}

// --- internal ---

const SETTING = 'browser';
const SECRET = 'browser-key';
const row = eq(settings.key, SETTING);
