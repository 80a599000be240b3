/** What code asks of the knowledge of its box. */
export interface RagCalls {
  search(collection: string, query: string, options?: RagSearchOptions): Promise<RagHit[]>;
  add(collection: string, document: RagDocument): Promise<RagAdded>;
  addFile(collection: string, file: RagFile): Promise<RagAddedFile>;
  delete(collection: string, id: string): Promise<boolean>;
}

export type RagScalar = string | number | boolean;

/** What the metadata of a document has to have: a value, or one of several. A list has each of its values. */
export type RagFilter = Readonly<Record<string, RagScalar | { in: readonly RagScalar[] }>>;

export interface RagSearchOptions {
  /** How many chunks, 1 to 50. Default 5. */
  topK?: number | undefined;
  /** At most 10 members, each with up to 50 values. */
  filter?: RagFilter | undefined;
  /** `vector`: by meaning alone; `text`: by words alone, which asks no model. Default `hybrid`. */
  mode?: 'hybrid' | 'vector' | 'text' | undefined;
  /**
   * Whether a rerank model puts what is found in its order: that of the collection, or else of the workspace. Default: whether
   * the collection has one.
   */
  rerank?: boolean | undefined;
}

/** A chunk that was found. */
export interface RagHit {
  documentId: string;
  title: string | null;
  /** Its number in the document, from 0. */
  chunk: number;
  text: string;
  /** From 0 to 1, which is the first by vector and by words. */
  score: number;
  /** Its place among the nearest vectors, from 1. Null: it is not among them. */
  vectorRank: number | null;
  /** Its place among those with the words. */
  textRank: number | null;
  /** Cosine of its vector and that of the query. */
  similarity: number | null;
  /** How relevant the rerank model finds it, on a scale of its own. Null: it was not asked, or did not answer. */
  rerankScore: number | null;
  metadata: Record<string, RagScalar | RagScalar[]>;
  place: RagPlace;
}

/** Where in its document a chunk stands. */
export interface RagPlace {
  /** The headings above it, the outermost first. */
  headings: string[];
  /** In UTF-16 units from 0. */
  start: number;
  end: number;
  /** From 1. */
  line: number;
  /** From 1. Null: the document has no pages. */
  page: number | null;
}

export interface RagDocument {
  /** 1 to 500 characters, such as a path. The same id replaces the document. */
  id: string;
  /** Up to 5,000,000 characters. */
  text: string;
  title?: string | undefined;
  /** Default `markdown`. */
  format?: 'markdown' | 'text' | undefined;
  /** What searches filter by. At most 8 KiB as JSON. */
  metadata?: Readonly<Record<string, RagScalar | readonly RagScalar[]>> | undefined;
}

export interface RagFile {
  /** What it is called, 1 to 500 characters. Its ending says what it is read as, unless `type` does. */
  name: string;
  /** Up to 32 MiB. */
  content: Uint8Array;
  /** Its media type: `application/pdf`. Default: by the ending of its name. */
  type?: string | undefined;
  /** Of the document. Default: the name. */
  id?: string | undefined;
  /** Default: as the file calls itself. */
  title?: string | undefined;
  /** What searches filter by. At most 8 KiB as JSON. */
  metadata?: RagDocument['metadata'];
}

export interface RagAddedFile extends RagAdded {
  title: string | null;
  /** Of its text. */
  characters: number;
  /** How many it has. Null: it has no pages. */
  pages: number | null;
}

export interface RagAdded {
  id: string;
  version: number;
  /** `queued`: it is embedded soon, and until then its version before answers. `ready`: nothing has changed. */
  state: 'queued' | 'embedding' | 'ready' | 'failed';
}
