import { eq } from 'drizzle-orm';
import { currentMark } from '../engine/context.ts';
import type { SecretStore } from '../secrets/store.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { withMarks } from '../stores/drizzle.ts';
import { settings } from '../stores/table.ts';
import type { ProviderSettings, ProviderStore } from './provider.ts';

const SETTING = 'model-provider';
const SECRET = 'model-provider-key';

/** One that can also keep what the environment names. */
export interface SeededProviderStore extends ProviderStore {
  /** Keeps the provider of the environment for a start without it. One that a person has stored stays. */
  seed(settings: ProviderSettings): Promise<void>;
}

/**
 * The address among the settings, the key sealed among the secrets. Both are read and written as one: the key of a
 * provider is never seen with the address of another.
 */
export function createProviderStore(given: Drizzle, secrets: Promise<SecretStore>): SeededProviderStore {
  const db = withMarks(given, currentMark);
  const address = eq(settings.key, SETTING);
  const readRow = async (tx: Drizzle): Promise<(ProviderSettings & Kept) | undefined> => {
    const [row] = await tx.select({ value: settings.value }).from(settings).where(address);
    if (!row) return undefined;
    const { baseUrl, isSeeded } = row.value as ProviderSettings & Kept;
    const apiKey = await (await secrets).within(tx).get(SECRET);
    return { baseUrl, ...(apiKey === undefined ? {} : { apiKey }), ...(isSeeded ? { isSeeded } : {}) };
  };
  const writeRow = async (tx: Drizzle, { baseUrl, apiKey, ...kept }: ProviderSettings & Kept): Promise<void> => {
    const value = { baseUrl, ...kept };
    // The address first: its row keeps two writes apart.
    await tx
      .insert(settings)
      .values({ key: SETTING, value })
      .onConflictDoUpdate({ target: settings.key, set: { value, updatedAt: new Date() } });
    const store = (await secrets).within(tx);
    await (apiKey === undefined ? store.delete(SECRET) : store.set(SECRET, apiKey));
  };
  return {
    async read() {
      await secrets;
      const how = { isolationLevel: 'repeatable read', accessMode: 'read only' } as const;
      const row = await db.transaction(readRow, how);
      if (!row) return undefined;
      const { isSeeded: _, ...provider } = row;
      return provider;
    },
    async write({ baseUrl, apiKey }) {
      await secrets;
      await db.transaction((tx) => writeRow(tx, { baseUrl, ...(apiKey === undefined ? {} : { apiKey }) }));
    },
    async seed({ baseUrl, apiKey }) {
      await secrets;
      await db.transaction(async (tx) => {
        const kept = await readRow(tx);
        if (kept && (!kept.isSeeded || (kept.baseUrl === baseUrl && kept.apiKey === apiKey))) return;
        await writeRow(tx, { baseUrl, ...(apiKey === undefined ? {} : { apiKey }), isSeeded: true });
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

// --- internal ---

interface Kept {
  /** It came from the environment. */
  isSeeded?: true;
}
