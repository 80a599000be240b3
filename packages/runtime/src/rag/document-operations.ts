import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, StorableText, withoutUndefined } from '../operations/inputs.ts';
import { Query, TopK } from './code-calls.ts';
import type { Rag } from './rag.ts';
import {
  Chunk,
  Document,
  DOCUMENT_STATES,
  DocumentId,
  Filter,
  Hit,
  MetadataInput,
  MODES,
  Rerank,
  TEXT_FORMATS,
} from './schemas.ts';
import { DEFAULT_FORMAT } from './source.ts';

const operation = operationsOf<{ rag: Rag }>();

const room = { tag: 'rag', copilot: 'yes' } as const;
const name = z.string().max(63).describe('The name of the collection');
const id = z.string().max(500).describe('The id of the document');

export const listDocuments = operation({
  ...room,
  id: 'rag.documents.list',
  summary: 'List documents by id, each with how far its embedding is',
  route: 'GET /api/rag/collections/:name/documents',
  kind: 'read',
  permission: 'rag:read',
  errors: ['rag_collection_not_found', 'invalid_cursor'],
  input: z.strictObject({ name, ...Page, state: z.enum(DOCUMENT_STATES).optional() }),
  output: z.object({ items: z.array(Document), nextCursor: z.string().nullable() }),
  handle: ({ rag }, { name: of, ...page }) => rag.documents(of, withoutUndefined(page)),
});

export const getDocument = operation({
  ...room,
  id: 'rag.documents.get',
  summary: 'Get one document with the chunks searches find of it',
  route: 'GET /api/rag/collections/:name/documents/:id',
  kind: 'read',
  permission: 'rag:read',
  errors: ['rag_collection_not_found', 'rag_document_not_found', 'invalid_cursor'],
  input: z.strictObject({ name, id, ...Page }),
  output: Document.extend({
    items: z.array(Chunk).describe('A page of its chunks'),
    nextCursor: z.string().nullable(),
  }),
  handle: ({ rag }, { name: of, id: document, ...page }) => rag.document(of, document, withoutUndefined(page)),
});

export const addDocument = operation({
  ...room,
  id: 'rag.documents.add',
  summary: 'Add a document given as text, or replace that of the same id; it is embedded soon after',
  route: 'POST /api/rag/collections/:name/documents',
  kind: 'write',
  permission: 'rag:write',
  cli: 'rag add',
  status: 202,
  errors: ['rag_collection_not_found'],
  input: z.strictObject({
    name,
    id: DocumentId,
    text: StorableText.min(1).max(1_000_000).describe('The document, up to 1,000,000 characters'),
    title: StorableText.max(500).optional().describe('What sources call it'),
    format: z
      .enum(TEXT_FORMATS)
      .default(DEFAULT_FORMAT)
      .describe('Whether headings and code of Markdown are looked for'),
    metadata: MetadataInput.default({}),
  }),
  output: z.object({
    id: z.string(),
    version: z.int(),
    state: z.enum(DOCUMENT_STATES).describe('`ready`: it is the same as it was'),
  }),
  async handle({ rag }, { name: of, title = null, ...document }, { caller }) {
    return { id: document.id, ...(await rag.add(of, { ...document, title, pages: null }, caller.name)) };
  },
});

export const deleteDocument = operation({
  ...room,
  id: 'rag.documents.delete',
  summary: 'Delete a document; searches no longer find it',
  route: 'DELETE /api/rag/collections/:name/documents/:id',
  kind: 'write',
  permission: 'rag:write',
  confirm: true,
  cli: 'rag rm',
  errors: ['rag_collection_not_found', 'rag_document_not_found'],
  input: z.strictObject({ name, id }),
  output: z.object({ id: z.string(), deleted: z.literal(true) }),
  async handle({ rag }, input) {
    await rag.deleteDocument(input.name, input.id);
    return { id: input.id, deleted: true as const };
  },
});

export const searchCollection = operation({
  ...room,
  id: 'rag.search',
  summary: 'Search a collection by meaning and by words, with scores and places',
  route: 'POST /api/rag/collections/:name/search',
  kind: 'read',
  permission: 'rag:read',
  cli: 'rag search',
  errors: [
    'rag_collection_not_found',
    'model_not_selected',
    'model_provider_missing',
    'model_provider_failed',
    'model_timeout',
  ],
  input: z.strictObject({
    name,
    query: Query.describe('What is looked for: a question, or words'),
    topK: TopK.describe('How many chunks'),
    filter: Filter.optional(),
    mode: z
      .enum(MODES)
      .default('hybrid')
      .describe('`vector`: by meaning alone; `text`: by words alone, which asks no model'),
    rerank: z
      .boolean()
      .optional()
      .describe(
        'Whether a rerank model puts what is found in its order: that of the collection, or else of the workspace, "rerankModel" in svc.config.ts. Default: whether the collection has one',
      ),
  }),
  output: z.object({
    items: z.array(Hit),
    nextCursor: z.null(),
    rerank: Rerank.nullable().describe('The outcome of the rerank. Null: it was not asked for'),
  }),
  async handle({ rag }, { name: of, query, ...options }, { signal }) {
    const { hits, rerank } = await rag.search(of, query, options, signal);
    return { items: hits, nextCursor: null, rerank };
  },
});
