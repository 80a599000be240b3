import type { CatalogOverride, CatalogOverrides } from './overrides.ts';
import { NO_OVERRIDE } from './overrides.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { KeyValueStore } from '../stores/kv.ts';
import { createLiveValue } from '../stores/live-value.ts';
import { catalogOverrides } from './table.ts';

export interface CatalogOverridesOptions {
  db: Drizzle;
  kv?: KeyValueStore | undefined;
  /** False: the database is still being opened, and nothing is chosen. */
  isOpen?(): boolean;
}

export function createCatalogOverrides({ db, kv, isOpen = () => true }: CatalogOverridesOptions): CatalogOverrides {
  const live = createLiveValue<Map<string, CatalogOverride>>({
    topic: 'catalog-overrides',
    kv,
    early: { isOpen, value: new Map() },
    async load() {
      const rows = await db.select().from(catalogOverrides);
      return new Map(rows.map(({ kind, name, ...chosen }) => [toKey(kind, name), toOverride(chosen)]));
    },
  });
  return {
    find: async (kind, name) => (await live.read()).get(toKey(kind, name)) ?? NO_OVERRIDE,
    async listShown(kind, names) {
      const chosen = await live.read();
      return names.filter((name) => !chosen.get(toKey(kind, name))?.isHidden);
    },
    async set(kind, name, change, updatedBy) {
      const set = { ...change, updatedBy, updatedAt: new Date() };
      await db
        .insert(catalogOverrides)
        .values({ kind, name, ...set })
        .onConflictDoUpdate({ target: [catalogOverrides.kind, catalogOverrides.name], set });
      await live.changed();
    },
    close: live.close,
  };
}

// --- internal ---

function toOverride({ model, limits, isHidden }: CatalogOverride): CatalogOverride {
  return { model, limits, isHidden };
}

function toKey(kind: string, name: string): string {
  return `${kind} ${name}`;
}
