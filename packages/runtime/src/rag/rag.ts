import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import type { CallRerank } from '../agents/model/rerank.ts';
import type { RagCalls, RagSearchOptions } from '../engine/rag-calls.ts';
import type { Log } from '../log.ts';
import { parseIdCursor } from '../operations/cursor.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import type { Asking, Found } from './asking.ts';
import { createBuildingStore } from './building-rows.ts';
import { readChunks } from './chunks.ts';
import { createCodeCalls } from './code-calls.ts';
import { createCommonWords } from './common-words.ts';
import { createCollectionStore } from './collection-rows.ts';
import { createCollections, openCollection, toNext } from './collections.ts';
import type { Collections, ListPage } from './collections.ts';
import { createDocumentStore } from './document-rows.ts';
import { collectionNotFound, documentNotFound, toAskedError } from './errors.ts';
import { createFileReader } from './files/read-file.ts';
import type { GivenFile } from './files/read-file.ts';
import { createIngest } from './ingest.ts';
import type { IngestLimits } from './ingest.ts';
import { createReindexing } from './reindex.ts';
import type { ReindexOptions } from './reindex.ts';
import { MOST_CHARACTERS } from './schemas.ts';
import type { Chunk, Collection, Document, DocumentState, Metadata } from './schemas.ts';
import { searchOpened } from './search.ts';
import { toDocument } from './show.ts';
import type { Source } from './source.ts';
import { createSteady } from './steady.ts';
import type { IngestRow, Opened } from './store.ts';
import { createVectors } from './vectors.ts';

/** Collections of texts that are searched by what they mean and by their words. */
export interface Rag extends Collections {
  /**
   * Re-embeds all documents, under a model or as they are cut by now; what answered goes on to until all of it is done.
   * Throws `rag_collection_invalid`, `vector_unavailable`, and what the provider refuses.
   */
  reindex(name: string, to: ReindexOptions, signal: AbortSignal): Promise<Collection>;
  documents(
    name: string,
    page: ListPage & { state?: DocumentState },
  ): Promise<{ items: Document[]; nextCursor: string | null }>;
  /** With chunks of the version that answers. Throws `rag_document_not_found`. */
  document(name: string, id: string, page: ListPage): Promise<Document & { items: Chunk[]; nextCursor: string | null }>;
  /** Adds the document, or replaces that of its id; the old version answers until the new one is embedded. */
  add(name: string, source: Source, by: string): Promise<Pick<IngestRow, 'version' | 'state'>>;
  /** Adds what is in a file; its bytes are gone afterwards. Throws as a `FileReader` does. */
  upload(name: string, file: GivenFile, options: UploadOptions): Promise<Uploaded>;
  /** Throws `rag_document_not_found`. */
  deleteDocument(name: string, id: string): Promise<void>;
  search(name: string, query: string, options: RagSearchOptions, signal: AbortSignal): Promise<Found>;
  /** For code of a run, which pays for what its queries use. */
  forCode(run: Asking & { name: string; signal: AbortSignal }): RagCalls;
  /** Embeds what is due, unless that is under way. Never waits and never throws. */
  sweep(): void;
  close(): Promise<void>;
}

export interface UploadOptions {
  id: string;
  /** Absent: as the file calls itself. */
  title?: string | undefined;
  metadata: Metadata;
  by: string;
  signal: AbortSignal;
  /** Until it is its turn. Default: `too_many_files`. */
  waits?: boolean;
}

export interface Uploaded extends Pick<IngestRow, 'version' | 'state'> {
  id: string;
  title: string | null;
  characters: number;
  pages: number | null;
}

export interface RagLimits extends IngestLimits {
  /** Milliseconds of a rerank, after which the order of the search is left. */
  rerankMs: number;
}

export interface RagOptions {
  db: Drizzle;
  callEmbeddings: CallEmbeddings;
  callRerank: CallRerank;
  /** The embedding model of the workspace. */
  embeddingModel(): string | undefined;
  /** The rerank model of the workspace. */
  rerankModel(): string | undefined;
  isOpen(): boolean;
  log: Log;
  limits?: Partial<RagLimits> | undefined;
}

export function createRag(options: RagOptions): Rag {
  const { db, callEmbeddings, callRerank, embeddingModel, rerankModel, isOpen, log, limits } = options;
  const store = createCollectionStore(db);
  const documents = createDocumentStore(db);
  const vectors = createVectors(db, callEmbeddings);
  const commonWords = createCommonWords(db);
  const files = createFileReader({ most: MOST_CHARACTERS });
  const reindexing = createReindexing({ store, building: createBuildingStore(db), callEmbeddings });
  const ingest = createIngest({ db, vectors, log, isOpen, limits, settle: reindexing.settle });
  const collections = createCollections({ store, callEmbeddings, embeddingModel });

  const open = (name: string): Promise<Opened> => openCollection(store, name);
  const findDocument = async (opened: Opened, id: string) => {
    const found = await documents.find(opened, id);
    if (!found) throw documentNotFound(id, opened.collection.name);
    return found;
  };
  const steady = createSteady(open);
  const search = async (name: string, query: string, how: RagSearchOptions, asking: Asking): Promise<Found> => {
    const models = { asking, commonWords, rerankModel: rerankModel(), rerankMs: limits?.rerankMs };
    const found = await steady.readAtOnce(name, (opened) => searchOpened(db, opened, { query, ...how }, models));
    const { error = null, model } = found.rerank ?? {};
    if (error !== null) log.warn(`A search was not reranked: ${error}`, { collection: name, model });
    return found;
  };
  const add: Rag['add'] = async (name, source, by) => {
    const { collection } = await open(name);
    const put = await documents.put(collection.id, source, by);
    if (!put) throw collectionNotFound(name);
    ingest.wake();
    return put;
  };
  const upload: Rag['upload'] = async (name, file, { id, title: given, metadata, by, signal, waits }) => {
    await open(name);
    const { title: own, format, text, pages } = await files.read(file, signal, { waits });
    const title = given ?? own;
    const put = await add(name, { id, title, metadata, format, text, pages }, by);
    return { id, ...put, title, characters: text.length, pages: pages && pages.length };
  };
  const deleteDocument: Rag['deleteDocument'] = async (name, id) => {
    const { collection } = await open(name);
    if (!(await documents.remove(collection.id, id))) throw documentNotFound(id, name);
  };

  return {
    ...collections,
    async update(name, changes) {
      const updated = await collections.update(name, changes);
      // What is being re-embedded may have to be cut once more.
      ingest.wake();
      return updated;
    },
    async reindex(name, to, signal) {
      await reindexing.begin(name, to, signal);
      ingest.wake();
      return collections.get(name);
    },
    async documents(name, { limit, cursor, state }) {
      const after = cursor === undefined ? undefined : parseIdCursor(cursor);
      const rows = await documents.list(await open(name), { after, limit: limit + 1, state });
      return {
        items: rows.slice(0, limit).map(toDocument),
        nextCursor: toNext(rows, limit, ({ document }) => document.id),
      };
    },
    document: (name, id, { limit, cursor }) =>
      steady.read(name, async (opened) => {
        const found = await findDocument(opened, id);
        const rows = await readChunks(db, opened.index, { documentId: id, cursor, limit: limit + 1 });
        const nextCursor = toNext(rows, limit, ({ chunk }) => String(chunk));
        return { ...toDocument(found), items: rows.slice(0, limit), nextCursor };
      }),
    add,
    upload,
    deleteDocument,
    async search(name, query, how, signal) {
      const asking: Asking = {
        embed: ({ model = '', ...asked }) => callEmbeddings({ model, ...asked }, { signal, onTokens: () => {} }),
        rerank: (asked) => callRerank(asked, { signal }),
      };
      return search(name, query, how, asking).catch((error: unknown) => {
        throw toAskedError(error);
      });
    },
    forCode: ({ name: by, signal, ...asking }) =>
      createCodeCalls({
        search: async (...asked) => (await search(...asked, asking)).hits,
        add: (name, source) => add(name, source, by),
        addFile: (name, file, as) => upload(name, file, { ...as, by, signal, waits: true }),
        delete: deleteDocument,
      }),
    sweep: () => ingest.sweep(),
    close: () => ingest.close(),
  };
}
