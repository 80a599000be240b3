import { and, asc, eq, gt, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { dropChunkTable, makeChunkTable, rowsOf } from './chunk-table.ts';
import type { CollectionRow, CollectionStore } from './store.ts';
import { ragCollections, ragIndexes, ragIngests } from './table.ts';

export function createCollectionStore(db: Drizzle): CollectionStore {
  return {
    list: (after, limit) =>
      db
        .select()
        .from(ragCollections)
        .where(after === undefined ? undefined : gt(ragCollections.name, after))
        .orderBy(asc(ragCollections.name))
        .limit(limit),
    async find(name) {
      const [row] = await db
        .select({ collection: ragCollections, index: ragIndexes })
        .from(ragCollections)
        .innerJoin(ragIndexes, and(eq(ragIndexes.collectionId, ragCollections.id), eq(ragIndexes.state, 'live')))
        .where(eq(ragCollections.name, name));
      return row;
    },
    listIndexes: (collectionId) =>
      db
        .select({
          index: ragIndexes,
          counts: {
            documents: sql<number>`count(${ragIngests.documentId})::int`,
            ready: sql<number>`(count(*) filter (where ${ragIngests.state} = 'ready'))::int`,
            failed: sql<number>`(count(*) filter (where ${ragIngests.state} = 'failed'))::int`,
            chunks: sql<number>`coalesce(sum(${ragIngests.chunks}), 0)::int`,
            error: sql<string | null>`coalesce(${firstError(sql`= 'failed'`)}, ${firstError(sql`<> 'ready'`)})`,
          },
        })
        .from(ragIndexes)
        .leftJoin(ragIngests, eq(ragIngests.indexId, ragIndexes.id))
        .where(eq(ragIndexes.collectionId, collectionId))
        .groupBy(ragIndexes.id),
    create: (collection, index) =>
      db.transaction(async (tx) => {
        await tx.execute(sql`lock table ${ragCollections} in share row exclusive mode`);
        const [all] = await rowsOf<{ count: number; taken: boolean }>(
          tx,
          sql`select count(*)::int as count, coalesce(bool_or(name = ${collection.name}), false) as taken from ${ragCollections}`,
        );
        if (all?.taken) return 'exists';
        if ((all?.count ?? 0) >= MOST_COLLECTIONS) return 'full';
        await tx.insert(ragCollections).values(collection);
        await tx.insert(ragIndexes).values(index);
        await makeChunkTable(tx, { indexId: index.id, dimension: index.dimension });
        return 'created';
      }),
    update: (id, change) =>
      db.transaction(async (tx) => {
        const [before] = await tx.select().from(ragCollections).where(eq(ragCollections.id, id)).for('update');
        if (!before) return false;
        const changes = change(before);
        await tx
          .update(ragCollections)
          .set({ ...changes, updatedAt: new Date() })
          .where(eq(ragCollections.id, id));
        if (!isCutOtherwise(before, changes)) return true;
        await tx.execute(sql`update ${ragIngests} set state = 'queued', error = null, attempts = 0, due_at = now(),
          lease_id = null, lease_until = null
          where index_id in (select id from ${ragIndexes} where collection_id = ${id} and state = 'building')`);
        return true;
      }),
    remove: (name) =>
      db.transaction(async (tx) => {
        const [found] = await tx
          .select({ id: ragCollections.id })
          .from(ragCollections)
          .where(eq(ragCollections.name, name))
          .for('update');
        if (!found) return false;
        const indexes = await tx
          .select({ id: ragIndexes.id })
          .from(ragIndexes)
          .where(eq(ragIndexes.collectionId, found.id));
        await tx.delete(ragCollections).where(eq(ragCollections.id, found.id));
        for (const { id } of indexes) await dropChunkTable(tx, { indexId: id });
        return true;
      }),
  };
}

// --- internal ---

const firstError = (isMeant: SQL): SQL =>
  sql`min(${ragIngests.documentId} || ': ' || ${ragIngests.error}) filter (where ${ragIngests.state} ${isMeant})`;

const MOST_COLLECTIONS = 200;

function isCutOtherwise(before: CollectionRow, after: Partial<CollectionRow>): boolean {
  const names = ['chunkSize', 'chunkOverlap', 'chunkMarkdown'] as const;
  return names.some((name) => after[name] !== undefined && after[name] !== before[name]);
}
