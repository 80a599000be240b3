import type { DocumentState } from './schemas.ts';
import type { Source } from './source.ts';
import type { ragCollections, ragDocuments, ragIndexes, ragIngests } from './table.ts';

export type CollectionRow = typeof ragCollections.$inferSelect;
export type IndexRow = typeof ragIndexes.$inferSelect;
export type DocumentRow = Omit<typeof ragDocuments.$inferSelect, 'text'>;
export type IngestRow = typeof ragIngests.$inferSelect;

/** A collection with the index that answers. */
export interface Opened {
  collection: CollectionRow;
  index: IndexRow;
}

export interface ListedDocument {
  document: DocumentRow;
  ingest: IngestRow;
}

/** Of one index. */
export interface IndexCounts {
  documents: number;
  ready: number;
  failed: number;
  chunks: number;
  /** Of a document that failed, or else of one that is tried again, with its id. */
  error: string | null;
}

/** Collections and their indexes, as they are stored. */
export interface CollectionStore {
  /** By name, with one more than the page where there is one. */
  list(after: string | undefined, limit: number): Promise<CollectionRow[]>;
  find(name: string): Promise<Opened | undefined>;
  /** All indexes of a collection, with how far each is. */
  listIndexes(collectionId: string): Promise<{ index: IndexRow; counts: IndexCounts }[]>;
  /** Throws `vector_unavailable`. */
  create(collection: CollectionRow, index: IndexRow): Promise<'created' | 'exists' | 'full'>;
  /** Makes of it what `change` makes of it by then. What is being re-embedded is cut by that too. False: it is gone. */
  update(id: string, change: (before: CollectionRow) => Partial<CollectionRow>): Promise<boolean>;
  /** False: there is none. */
  remove(name: string): Promise<boolean>;
}

/** Indexes that are built beside those that answer. */
export interface BuildingStore {
  /**
   * Begins one with all documents of the collection. One that is built of the same model goes on, and tries again what has
   * failed; one of another is given up for it. False: the collection is gone. Throws `vector_unavailable`.
   */
  begin(collectionId: string, index: IndexRow): Promise<boolean>;
  /** Has those answer that have all that is to answer, in place of those before. How many did. */
  switch(): Promise<number>;
  /** Drops the tables of indexes that are no more. False: one is in use, and left for another time. */
  dropLeft(): Promise<boolean>;
}

/** Documents, and how far each is. */
export interface DocumentStore {
  list(
    opened: Opened,
    page: { after: string | undefined; limit: number; state: DocumentState | undefined },
  ): Promise<ListedDocument[]>;
  find(opened: Opened, id: string): Promise<ListedDocument | undefined>;
  /** Undefined: the collection is gone. */
  put(collectionId: string, source: Source, by: string): Promise<Pick<IngestRow, 'version' | 'state'> | undefined>;
  remove(collectionId: string, id: string): Promise<boolean>;
}
