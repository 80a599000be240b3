import { and, eq, sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { dropUnused, listLeftTables, makeChunkTable, rowsOf } from './chunk-table.ts';
import type { BuildingStore } from './store.ts';
import { ragCollections, ragDocuments, ragIndexes, ragIngests } from './table.ts';
import { isSame } from './vectors.ts';

/** The table of an index that is no more is dropped later, by itself: dropping waits for whoever reads, and who reads then for it. */
export function createBuildingStore(db: Drizzle): BuildingStore {
  /** False: it was taken back, or something was added to it meanwhile. */
  const switchTo = (collectionId: string, indexId: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      await lockCollection(tx, collectionId);
      const [whole] = await rowsOf<{ id: string }>(tx, selectWhole(indexId));
      if (!whole) return false;
      await tx.delete(ragIndexes).where(and(eq(ragIndexes.collectionId, collectionId), eq(ragIndexes.state, 'live')));
      await tx.update(ragIndexes).set({ state: 'live' }).where(eq(ragIndexes.id, indexId));
      await tx.update(ragCollections).set({ updatedAt: new Date() }).where(eq(ragCollections.id, collectionId));
      return true;
    });
  return {
    begin: (collectionId, index) =>
      db.transaction(async (tx) => {
        if (!(await lockCollection(tx, collectionId))) return false;
        const isBuilding = and(eq(ragIndexes.collectionId, collectionId), eq(ragIndexes.state, 'building'));
        const [before] = await tx.select().from(ragIndexes).where(isBuilding);
        if (before && isSame(before, index)) {
          await tx
            .update(ragIngests)
            .set({ state: 'queued', error: null, attempts: 0, dueAt: sql`now()` })
            .where(and(eq(ragIngests.indexId, before.id), eq(ragIngests.state, 'failed')));
          return true;
        }
        if (before) await tx.delete(ragIndexes).where(eq(ragIndexes.id, before.id));
        await tx.insert(ragIndexes).values(index);
        await makeChunkTable(tx, { indexId: index.id, dimension: index.dimension });
        await tx.execute(sql`
          insert into ${ragIngests} (index_id, collection_id, document_id, version, state, is_anew)
          select ${index.id}, collection_id, id, version, 'queued', true from ${ragDocuments}
          where collection_id = ${collectionId}`);
        return true;
      }),
    async switch() {
      let switched = 0;
      for (const { id, collectionId } of await rowsOf<Whole>(db, selectWhole()))
        if (await switchTo(collectionId, id)) switched += 1;
      return switched;
    },
    async dropLeft() {
      const left = await listLeftTables(db);
      for (const table of left) if (!(await dropUnused(db, table))) return false;
      return true;
    },
  };
}

// --- internal ---

interface Whole {
  id: string;
  collectionId: string;
}

/** No document comes, and no index, while it is held. False: there is none. */
async function lockCollection(tx: Pick<Drizzle, 'select'>, id: string): Promise<boolean> {
  const rows = await tx
    .select({ id: ragCollections.id })
    .from(ragCollections)
    .where(eq(ragCollections.id, id))
    .for('update');
  return rows.length > 0;
}

/** Those built that have every document that answers, in the version that does or a later one. */
function selectWhole(indexId?: string): SQL {
  return sql`
    select b.id, b.collection_id as "collectionId" from ${ragIndexes} b
    where b.state = 'building' and ${indexId === undefined ? sql`true` : sql`b.id = ${indexId}`}
      and not exists (
        select 1 from ${ragIngests} i where i.index_id = b.id and i.state in ('queued', 'embedding'))
      and not exists (
        select 1 from ${ragIngests} i
        join ${ragIndexes} l on l.collection_id = b.collection_id and l.state = 'live'
        join ${ragIngests} a on a.index_id = l.id and a.document_id = i.document_id
        where i.index_id = b.id and i.state = 'failed' and coalesce(i.ready_version, 0) < a.ready_version)`;
}
