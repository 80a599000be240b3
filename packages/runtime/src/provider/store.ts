import { eq } from 'drizzle-orm';
import type { SecretStore } from '../secrets/store.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { settings } from '../stores/table.ts';
import type { ProviderSettings, ProviderStore } from './provider.ts';

const SETTING = 'model-provider';
const SECRET = 'model-provider-key';

/**
 * The address among the settings, the key sealed among the secrets. Both are read and written as one: the key of a
 * provider is never seen with the address of another.
 */
export function createProviderStore(db: Drizzle, secrets: Promise<SecretStore>): ProviderStore {
  const address = eq(settings.key, SETTING);
  return {
    async read() {
      const store = await secrets;
      return db.transaction(
        async (tx) => {
          const [row] = await tx.select({ value: settings.value }).from(settings).where(address);
          if (!row) return undefined;
          const { baseUrl } = row.value as ProviderSettings;
          const apiKey = await store.within(tx).get(SECRET);
          return apiKey === undefined ? { baseUrl } : { baseUrl, apiKey };
        },
        { isolationLevel: 'repeatable read', accessMode: 'read only' },
      );
    },
    async write({ baseUrl, apiKey }) {
      const store = await secrets;
      const value = { baseUrl };
      await db.transaction(async (tx) => {
        // The address first: its row keeps two writes apart.
        await tx
          .insert(settings)
          .values({ key: SETTING, value })
          .onConflictDoUpdate({ target: settings.key, set: { value, updatedAt: new Date() } });
        if (apiKey === undefined) await store.within(tx).delete(SECRET);
        else await store.within(tx).set(SECRET, apiKey);
      });
    },
    async remove() {
      const store = await secrets;
      await db.transaction(async (tx) => {
        await tx.delete(settings).where(address);
        await store.within(tx).delete(SECRET);
      });
    },
  };
}
