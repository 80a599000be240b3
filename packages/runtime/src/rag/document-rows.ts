import { and, asc, eq, gt, sql } from 'drizzle-orm';
import type { Drizzle } from '../stores/drizzle.ts';
import { removeChunks } from './chunk-table.ts';
import { hashText } from './source.ts';
import type { DocumentStore, Opened } from './store.ts';
import { ragCollections, ragDocuments, ragIndexes, ragIngests } from './table.ts';

export function createDocumentStore(db: Drizzle): DocumentStore {
  const selectDocuments = () => db.select({ document: DOCUMENT, ingest: ragIngests }).from(ragDocuments);
  const ofIndex = ({ index }: Opened) =>
    and(
      eq(ragIngests.indexId, index.id),
      eq(ragIngests.collectionId, ragDocuments.collectionId),
      eq(ragIngests.documentId, ragDocuments.id),
    );
  return {
    list: (opened, { after, limit, state }) =>
      selectDocuments()
        .innerJoin(ragIngests, ofIndex(opened))
        .where(
          and(
            eq(ragDocuments.collectionId, opened.collection.id),
            after === undefined ? undefined : gt(ragDocuments.id, after),
            state === undefined ? undefined : eq(ragIngests.state, state),
          ),
        )
        .orderBy(asc(ragDocuments.id))
        .limit(limit),
    async find(opened, id) {
      const [row] = await selectDocuments()
        .innerJoin(ragIngests, ofIndex(opened))
        .where(and(eq(ragDocuments.collectionId, opened.collection.id), eq(ragDocuments.id, id)));
      return row;
    },
    put: (collectionId, source, by) =>
      db.transaction(async (tx) => {
        // No index comes or goes meanwhile.
        const [collection] = await tx
          .select({ id: ragCollections.id })
          .from(ragCollections)
          .where(eq(ragCollections.id, collectionId))
          .for('share');
        if (!collection) return undefined;
        const contentHash = hashText(source.text);
        const { id, title, metadata, format, text, pages } = source;
        const content = { title, metadata, format, text, pages, contentHash, characters: text.length, addedBy: by };
        const [put] = await tx
          .insert(ragDocuments)
          .values({ collectionId, id, version: 1, ...content })
          .onConflictDoUpdate({
            target: [ragDocuments.collectionId, ragDocuments.id],
            set: { ...content, version: sql`${ragDocuments.version} + 1`, updatedAt: new Date() },
            // What is all the same is left as it is, unless it has failed.
            setWhere: sql`${ragDocuments.contentHash} <> ${contentHash} or ${ragDocuments.title} is distinct from ${title}
              or ${ragDocuments.metadata} <> ${JSON.stringify(metadata)}::jsonb or ${ragDocuments.format} <> ${format}
              or ${ragDocuments.pages} is distinct from ${pages && JSON.stringify(pages)}::jsonb
              or exists (select 1 from ${ragIngests} i where i.collection_id = ${collectionId} and i.document_id = ${id} and i.state = 'failed')`,
          })
          .returning({ version: ragDocuments.version });
        if (put)
          await tx.execute(sql`
            insert into ${ragIngests} (index_id, collection_id, document_id, version, state, is_anew)
            select id, collection_id, ${id}, ${put.version}, 'queued', state = 'building' from ${ragIndexes} where collection_id = ${collectionId}
            on conflict (index_id, document_id) do update set version = excluded.version, state = 'queued', error = null, is_anew = excluded.is_anew,
              attempts = 0, due_at = now(), lease_id = null, lease_until = null`);
        const [ingest] = await tx
          .select({ version: ragIngests.version, state: ragIngests.state })
          .from(ragIngests)
          .innerJoin(ragIndexes, and(eq(ragIndexes.id, ragIngests.indexId), eq(ragIndexes.state, 'live')))
          .where(and(eq(ragIngests.collectionId, collectionId), eq(ragIngests.documentId, id)));
        return ingest;
      }),
    remove: (collectionId, id) =>
      db.transaction(async (tx) => {
        await tx
          .select({ id: ragCollections.id })
          .from(ragCollections)
          .where(eq(ragCollections.id, collectionId))
          .for('share');
        // Whoever writes its chunks holds one of these.
        const ingests = await tx
          .select({ indexId: ragIngests.indexId })
          .from(ragIngests)
          .where(and(eq(ragIngests.collectionId, collectionId), eq(ragIngests.documentId, id)))
          .for('update');
        for (const index of ingests) await removeChunks(tx, index, id);
        const gone = await tx
          .delete(ragDocuments)
          .where(and(eq(ragDocuments.collectionId, collectionId), eq(ragDocuments.id, id)))
          .returning({ id: ragDocuments.id });
        return gone.length > 0;
      }),
  };
}

// --- internal ---

/** All but the text. */
const DOCUMENT = {
  collectionId: ragDocuments.collectionId,
  id: ragDocuments.id,
  version: ragDocuments.version,
  title: ragDocuments.title,
  metadata: ragDocuments.metadata,
  format: ragDocuments.format,
  pages: ragDocuments.pages,
  contentHash: ragDocuments.contentHash,
  characters: ragDocuments.characters,
  addedBy: ragDocuments.addedBy,
  createdAt: ragDocuments.createdAt,
  updatedAt: ragDocuments.updatedAt,
};
