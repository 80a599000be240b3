import { randomUUID } from 'node:crypto';
import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import { BoxError } from '../errors.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import { collectionNotFound } from './errors.ts';
import { probeModel } from './probe-model.ts';
import type { Chunking, Collection } from './schemas.ts';
import { toCollection } from './show.ts';
import type { CollectionRow, CollectionStore, Opened } from './store.ts';

export interface NewCollection {
  name: string;
  description?: string;
  chunking?: Partial<Chunking>;
  model?: string;
  dimension?: number;
  rerankModel?: string;
}

export interface CollectionChanges {
  description?: string | null;
  chunking?: Partial<Chunking>;
  rerankModel?: string | null;
}

export interface ListPage {
  limit: number;
  cursor?: string;
}

/** The collections of a box: what each is called, how its documents are cut, and the model it keeps. */
export interface Collections {
  list(page: ListPage): Promise<{ items: Collection[]; nextCursor: string | null }>;
  /** Throws `rag_collection_not_found`, as all below. */
  get(name: string): Promise<Collection>;
  /** Throws `rag_collection_exists`, `too_many_rag_collections`, `rag_collection_invalid`, `model_not_selected`, `vector_unavailable`. */
  create(collection: NewCollection, by: string, signal: AbortSignal): Promise<Collection>;
  update(name: string, changes: CollectionChanges): Promise<Collection>;
  delete(name: string): Promise<void>;
}

export interface CollectionsOptions {
  store: CollectionStore;
  callEmbeddings: CallEmbeddings;
  /** The embedding model of the workspace. */
  embeddingModel(): string | undefined;
}

export function createCollections({ store, callEmbeddings, embeddingModel }: CollectionsOptions): Collections {
  const show = async (row: CollectionRow): Promise<Collection> => toCollection(row, await store.listIndexes(row.id));
  const open = (name: string): Promise<Opened> => openCollection(store, name);
  return {
    async list({ limit, cursor }) {
      const rows = await store.list(cursor === undefined ? undefined : parseIdCursor(cursor), limit + 1);
      const page = rows.slice(0, limit);
      const items: Collection[] = [];
      for (const row of page) items.push(await show(row));
      return { items, nextCursor: toNext(rows, limit, ({ name }) => name) };
    },
    async get(name) {
      return show((await open(name)).collection);
    },
    async create({ name, description, chunking, rerankModel, model = embeddingModel(), dimension }, by, signal) {
      if (model === undefined) throw new BoxError('model_not_selected', NO_MODEL);
      const cutting = toChunking(chunking, DEFAULT_CHUNKING);
      if (await store.find(name)) throw exists(name);
      const probed = await probeModel(callEmbeddings, { model, dimension, signal });
      const now = new Date();
      const id = randomUUID();
      const row: CollectionRow = {
        id,
        name,
        description: description ?? null,
        ...cutting,
        rerankModel: rerankModel ?? null,
        createdBy: by,
        createdAt: now,
        updatedAt: now,
      };
      const isDimensionAsked = dimension !== undefined;
      const index = {
        id: randomUUID(),
        collectionId: id,
        state: 'live',
        model,
        dimension: probed,
        isDimensionAsked,
        createdAt: now,
      } as const;
      const outcome = await store.create(row, index);
      if (outcome === 'exists') throw exists(name);
      if (outcome === 'full') throw new BoxError('too_many_rag_collections', FULL);
      return show(row);
    },
    async update(name, { chunking, ...changes }) {
      const { collection } = await open(name);
      const change = (before: CollectionRow) => ({ ...(chunking && toChunking(chunking, before)), ...changes });
      if (!(await store.update(collection.id, change))) throw collectionNotFound(name);
      return show((await open(name)).collection);
    },
    async delete(name) {
      if (!(await store.remove(name))) throw collectionNotFound(name);
    },
  };
}

/** Throws `rag_collection_not_found`. */
export async function openCollection(store: CollectionStore, name: string): Promise<Opened> {
  const opened = await store.find(name);
  if (!opened) throw collectionNotFound(name);
  return opened;
}

/** The cursor behind the last row of a page, of which one more was asked for. */
export function toNext<T>(rows: readonly T[], limit: number, idOf: (row: T) => string): string | null {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return last === undefined ? null : toIdCursor(idOf(last));
}

// --- internal ---

const DEFAULT_CHUNKING = { chunkSize: 400, chunkOverlap: 60, chunkMarkdown: true };
const NO_MODEL =
  'No embedding model is selected. Name one as "model", or set "embeddingModel" in svc.config.ts: the collection keeps it.';
const FULL = 'This box has as many collections as it may have. Delete one that nothing uses.';

type Cutting = Pick<CollectionRow, 'chunkSize' | 'chunkOverlap' | 'chunkMarkdown'>;

function toChunking(given: Partial<Chunking> = {}, before: Cutting): Cutting {
  const {
    size = before.chunkSize,
    overlap = Math.min(before.chunkOverlap, size >> 1),
    markdown = before.chunkMarkdown,
  } = given;
  if (overlap <= size / 2) return { chunkSize: size, chunkOverlap: overlap, chunkMarkdown: markdown };
  throw new BoxError(
    'rag_collection_invalid',
    `Chunks of ${size} tokens cannot repeat ${overlap} of the one before: at most half of them, ${size >> 1}.`,
  );
}

function exists(name: string): BoxError {
  return new BoxError(
    'rag_collection_exists',
    `There is a collection "${name}". Delete it first, or name this one otherwise.`,
  );
}
