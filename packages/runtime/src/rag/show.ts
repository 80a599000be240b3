import type { Collection, Document } from './schemas.ts';
import type { CollectionRow, IndexCounts, IndexRow, ListedDocument } from './store.ts';

const NONE: IndexCounts = { documents: 0, ready: 0, failed: 0, chunks: 0, error: null };

/** A collection, as it is shown. */
export function toCollection(row: CollectionRow, indexes: readonly CountedIndex[]): Collection {
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
      next: next ? toNext(next) : null,
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

interface CountedIndex {
  index: IndexRow;
  counts: IndexCounts;
}

function toNext({ index, counts: { documents, ready, failed, error } }: CountedIndex): Collection['index']['next'] {
  const state = failed > 0 && ready + failed === documents ? 'stopped' : 'embedding';
  return { ...toEmbedding(index), state, documents, ready, failed, error, since: index.createdAt.toISOString() };
}

function toEmbedding(index: IndexRow | undefined): Collection['embedding'] {
  return { model: index?.model ?? '', dimension: index?.dimension ?? 0 };
}
