import type { Collection, Document } from './schemas.ts';
import type { CollectionRow, IndexCounts, IndexRow, ListedDocument } from './store.ts';

const NONE: IndexCounts = { documents: 0, ready: 0, failed: 0, chunks: 0 };

/** A collection, as it is shown. */
export function toCollection(
  row: CollectionRow,
  indexes: readonly { index: IndexRow; counts: IndexCounts }[],
): Collection {
  const live = indexes.find(({ index }) => index.state === 'live');
  const next = indexes.find(({ index }) => index.state === 'building');
  const { documents, ready, failed, chunks } = live?.counts ?? NONE;
  const pending = documents - ready - failed;
  return {
    name: row.name,
    description: row.description,
    chunking: { size: row.chunkSize, overlap: row.chunkOverlap, markdown: row.chunkMarkdown },
    embedding: toEmbedding(live?.index),
    rerankModel: row.rerankModel,
    index: {
      state: next ? 'reindexing' : pending > 0 ? 'indexing' : 'ready',
      next: next
        ? {
            ...toEmbedding(next.index),
            documents: next.counts.documents,
            ready: next.counts.ready,
            failed: next.counts.failed,
          }
        : null,
    },
    counts: { documents, ready, pending, failed, chunks },
    createdBy: row.createdBy,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** A document, as it is shown. */
export function toDocument({ document, ingest }: ListedDocument): Document {
  const { id, title, metadata, format, characters, contentHash, version, addedBy, createdAt, updatedAt } = document;
  const { state, error, readyVersion: answering, chunks } = ingest;
  const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
  return {
    id,
    title,
    metadata,
    format,
    characters,
    contentHash,
    state,
    error,
    version,
    answering,
    chunks,
    addedBy,
    ...times,
  };
}

// --- internal ---

function toEmbedding(index: IndexRow | undefined): Collection['embedding'] {
  return { model: index?.model ?? '', dimension: index?.dimension ?? 0 };
}
