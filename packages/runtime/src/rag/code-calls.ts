import { z } from 'zod';
import type { RagAddedFile, RagCalls, RagHit, RagSearchOptions } from '../engine/rag-calls.ts';
import { BoxError } from '../errors.ts';
import { isGone, StorableText } from '../operations/inputs.ts';
import { MOST_FILE_BYTES } from './files/read-file.ts';
import type { GivenFile } from './files/read-file.ts';
import type { Metadata } from './schemas.ts';
import { DocumentId, Filter, MetadataInput, MODES, MOST_CHARACTERS, TEXT_FORMATS } from './schemas.ts';
import { DEFAULT_FORMAT } from './source.ts';
import type { Source } from './source.ts';
import type { IngestRow } from './store.ts';

export interface FileAs {
  id: string;
  title: string | undefined;
  metadata: Metadata;
}

export interface CodeCallsOptions {
  search(collection: string, query: string, options: RagSearchOptions): Promise<RagHit[]>;
  add(collection: string, source: Source): Promise<Pick<IngestRow, 'version' | 'state'>>;
  /** Waits for its turn where as many files are read as may be. */
  addFile(collection: string, file: GivenFile, as: FileAs): Promise<RagAddedFile>;
  delete(collection: string, id: string): Promise<void>;
}

/** What a step does with collections. It is checked as a request is: code hands on what others have written. */
export function createCodeCalls({ search, add, ...options }: CodeCallsOptions): RagCalls {
  return {
    search: async (collection, query, asked = {}) =>
      search(collection, check('search', Query, query), check('search', SearchOptions, asked)),
    async add(collection, document) {
      const { id, text, title = null, format, metadata } = check('add', NewDocument, document);
      const put = await add(collection, { id, text, title, format, metadata, pages: null });
      return { id, ...put };
    },
    async addFile(collection, file) {
      const { name, content, type = null, id = name, ...as } = check('addFile', NewFile, file);
      // Reading takes the bytes away, and those of the code are its own.
      try {
        if (content.byteLength > MOST_FILE_BYTES) throw tooLarge(name, content.byteLength);
        return await options.addFile(
          collection,
          { name, type, bytes: Uint8Array.from(content) },
          { title: undefined, ...as, id },
        );
      } catch (error) {
        throw final(error);
      }
    },
    delete: async (collection, id) =>
      !(await isGone('rag_document_not_found', () => options.delete(collection, check('delete', DocumentId, id)))),
  };
}

/** Of a query, as of a search over HTTP. */
export const Query = StorableText.min(1).max(4_000);
export const TopK = z.int().min(1).max(50).default(5);

// --- internal ---

const SearchOptions = z.strictObject({
  topK: TopK.optional(),
  filter: Filter.optional(),
  mode: z.enum(MODES).optional(),
  rerank: z.boolean().optional(),
});

const NewDocument = z.strictObject({
  id: DocumentId,
  text: StorableText.min(1).max(MOST_CHARACTERS),
  title: StorableText.max(500).optional(),
  format: z.enum(TEXT_FORMATS).default(DEFAULT_FORMAT),
  metadata: MetadataInput.default({}),
});

const NewFile = z.strictObject({
  name: DocumentId,
  content: z.instanceof(Uint8Array, { error: 'It must be the bytes of the file, as a Uint8Array' }),
  type: z.string().max(200).optional(),
  id: DocumentId.optional(),
  title: StorableText.max(500).optional(),
  metadata: MetadataInput.default({}),
});

/** Of these files nothing else comes, however often they are read. */
const FINAL = new Set(['file_type_unsupported', 'file_unreadable', 'payload_too_large']);

function final(error: unknown): unknown {
  return error instanceof BoxError && FINAL.has(error.code) ? Object.assign(error, { fatal: true }) : error;
}

function tooLarge(name: string, bytes: number): BoxError {
  const most = MOST_FILE_BYTES / 1_048_576;
  return new BoxError(
    'payload_too_large',
    `The file "${name}" has ${bytes} bytes; at most ${most} MiB are read. Part it into several.`,
  );
}

function check<S extends z.ZodType>(caller: string, schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'argument'}: ${message}`);
  const error = new BoxError(
    'invalid_request',
    `svc.rag.${caller}() was called with what it does not take. ${issues.join('; ')}.`,
  );
  // Asked again, it would be refused again.
  throw Object.assign(error, { fatal: true });
}
