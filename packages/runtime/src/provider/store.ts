import { eq } from 'drizzle-orm';
import type { SecretStore } from '../secrets/store.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { settings } from '../stores/schema.ts';
import type { ProviderSettings, ProviderStore } from './provider.ts';

const SETTING = 'model-provider';
const SECRET = 'model-provider-key';

/** The address among the settings, the key sealed among the secrets. */
export function createProviderStore(db: Drizzle, secrets: Promise<SecretStore>): ProviderStore {
  return {
    async read() {
      const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.key, SETTING));
      if (!row) return undefined;
      const { baseUrl } = row.value as ProviderSettings;
      const apiKey = await (await secrets).get(SECRET);
      return apiKey === undefined ? { baseUrl } : { baseUrl, apiKey };
    },
    async write({ baseUrl, apiKey }) {
      const store = await secrets;
      // The key first: an address with the key of another provider must never be read back.
      if (apiKey === undefined) await store.delete(SECRET);
      else await store.set(SECRET, apiKey);
      const value = { baseUrl };
      await db
        .insert(settings)
        .values({ key: SETTING, value })
        .onConflictDoUpdate({ target: settings.key, set: { value, updatedAt: new Date() } });
    },
  };
}
