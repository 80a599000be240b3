import { and, eq } from 'drizzle-orm';
import { BoxError } from '../errors.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { replaceChunks } from './chunk-table.ts';
import type { NewChunk } from './chunk-table.ts';
import { cutText, toEmbedded } from './cutting/cut.ts';
import type { Job, Jobs } from './jobs.ts';
import type { CollectionRow } from './store.ts';
import { ragCollections, ragDocuments, ragIndexes, ragIngests } from './table.ts';
import { keyOf } from './vectors.ts';
import type { Vectors } from './vectors.ts';

export interface EmbedDocumentOptions {
  db: Drizzle;
  vectors: Vectors;
  jobs: Jobs;
  signal: AbortSignal;
}

/**
 * Cuts a document, sees to the vectors of its chunks, and has them answer in place of those of the version before, in one
 * transaction. Does nothing where it was deleted or replaced meanwhile, or another process has it.
 */
export async function embedDocument(job: Job, { db, vectors, jobs, signal }: EmbedDocumentOptions): Promise<void> {
  const [found] = await db
    .select({ collection: ragCollections, index: ragIndexes, document: ragDocuments })
    .from(ragIndexes)
    .innerJoin(ragCollections, eq(ragCollections.id, ragIndexes.collectionId))
    .innerJoin(
      ragDocuments,
      and(eq(ragDocuments.collectionId, ragIndexes.collectionId), eq(ragDocuments.id, job.documentId)),
    )
    .where(eq(ragIndexes.id, job.indexId));
  if (!found || found.document.version !== job.version) return;
  const { collection, index, document } = found;
  const chunks = (await cut(document, collection)).map((one): NewChunk => ({
    ...one,
    key: keyOf(index, toEmbedded(one)),
  }));
  const indexes = await db.select().from(ragIndexes).where(eq(ragIndexes.collectionId, collection.id));
  const texts = new Map(chunks.map((chunk) => [chunk.key, toEmbedded(chunk)]));
  if (!(await vectors.ensure(texts, { index, indexes, signal, onKept: () => jobs.renew(job) }))) return;
  await db.transaction(async (tx) => {
    const [held] = await tx
      .select({ version: ragIngests.version })
      .from(ragIngests)
      .where(jobs.mine(job))
      .for('update');
    if (!held) return;
    const table = { indexId: index.id, dimension: index.dimension };
    const owner = { documentId: document.id, title: document.title, metadata: document.metadata };
    if (!(await replaceChunks(tx, table, owner, chunks))) throw new Error('A vector was deleted meanwhile.');
    const done = { state: 'ready', readyVersion: job.version, readyAt: new Date(), chunks: chunks.length } as const;
    await tx
      .update(ragIngests)
      .set({ ...done, error: null, attempts: 0, leaseId: null, leaseUntil: null })
      .where(jobs.mine(job));
  });
}

// --- internal ---

const MOST_CHUNKS = 20_000;

async function cut(document: typeof ragDocuments.$inferSelect, collection: CollectionRow) {
  const cuts = await cutText(document.text, {
    size: collection.chunkSize,
    overlap: collection.chunkOverlap,
    markdown: collection.chunkMarkdown,
    format: document.format,
    pages: document.pages,
  });
  if (cuts.length <= MOST_CHUNKS) return cuts;
  throw new BoxError(
    'payload_too_large',
    `The document has ${cuts.length} chunks, and may have ${MOST_CHUNKS}. Part it into several, or make chunks larger.`,
  );
}
