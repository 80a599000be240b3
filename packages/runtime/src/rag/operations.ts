import { z } from 'zod';
import { operationsOf } from '../operations/define.ts';
import { Page, StorableText, withoutUndefined } from '../operations/inputs.ts';
import { ChunkingInput, Collection, CollectionName } from './schemas.ts';
import type { Rag } from './rag.ts';

const operation = operationsOf<{ rag: Rag }>();

const room = { tag: 'rag', copilot: 'yes' } as const;
const name = z.string().max(63).describe('The name of the collection');
const model = StorableText.min(1).max(200);
const dimension = z.int().min(1).max(4_000);
const description = StorableText.max(2_000);
const rerankModel = StorableText.min(1)
  .max(200)
  .describe(
    'The model that puts what searches find in its order, at POST /rerank of the model provider, unless a search says otherwise',
  );

export const listCollections = operation({
  ...room,
  id: 'rag.collections.list',
  summary: 'List collections with their counts and the model of their vectors',
  route: 'GET /api/rag/collections',
  kind: 'read',
  permission: 'rag:read',
  cli: 'rag list',
  errors: ['invalid_cursor'],
  input: z.strictObject(Page),
  output: z.object({ items: z.array(Collection), nextCursor: z.string().nullable() }),
  handle: ({ rag }, page) => rag.list(withoutUndefined(page)),
});

export const getCollection = operation({
  ...room,
  id: 'rag.collections.get',
  summary: 'Get one collection with the state of its index',
  route: 'GET /api/rag/collections/:name',
  kind: 'read',
  permission: 'rag:read',
  errors: ['rag_collection_not_found'],
  input: z.strictObject({ name }),
  output: Collection,
  handle: ({ rag }, input) => rag.get(input.name),
});

export const createCollection = operation({
  ...room,
  id: 'rag.collections.create',
  summary: 'Create a collection; its embedding model is asked once, and kept with it',
  route: 'POST /api/rag/collections',
  kind: 'write',
  permission: 'rag:admin',
  status: 201,
  errors: [
    'rag_collection_exists',
    'rag_collection_invalid',
    'too_many_rag_collections',
    'model_not_selected',
    'model_provider_missing',
    'model_provider_failed',
    'model_timeout',
    'vector_unavailable',
  ],
  input: z.strictObject({
    name: CollectionName,
    description: description.optional().describe('What is in it, for people and for models that may search it'),
    chunking: ChunkingInput.optional(),
    model: model
      .optional()
      .describe('The embedding model. Default: that of the workspace, "embeddingModel" in svc.config.ts'),
    dimension: dimension
      .optional()
      .describe('Numbers of a vector, of a model that lets one choose. Default: as many as it gives'),
    rerankModel: rerankModel.optional(),
  }),
  output: Collection,
  handle: ({ rag }, { chunking, ...input }, { caller, signal }) =>
    rag.create(withoutUndefined({ ...input, chunking: chunking && withoutUndefined(chunking) }), caller.name, signal),
});

export const updateCollection = operation({
  ...room,
  id: 'rag.collections.update',
  summary: 'Change the description of a collection, how documents added from now on are cut, or its rerank model',
  route: 'PATCH /api/rag/collections/:name',
  kind: 'write',
  permission: 'rag:admin',
  errors: ['rag_collection_not_found', 'rag_collection_invalid'],
  input: z.strictObject({
    name,
    description: description.nullable().optional(),
    chunking: ChunkingInput.optional(),
    rerankModel: rerankModel.nullable().optional(),
  }),
  output: Collection,
  before: ({ rag }, input) => rag.get(input.name),
  handle: ({ rag }, { name: of, chunking, ...input }) =>
    rag.update(of, withoutUndefined({ ...input, chunking: chunking && withoutUndefined(chunking) })),
});

export const reindexCollection = operation({
  ...room,
  id: 'rag.collections.reindex',
  summary:
    'Embed all documents again, under another model or with the current chunk settings; searches go on meanwhile',
  route: 'POST /api/rag/collections/:name/reindex',
  kind: 'write',
  permission: 'rag:admin',
  status: 202,
  cli: 'rag reindex',
  errors: [
    'rag_collection_not_found',
    'rag_collection_invalid',
    'model_provider_missing',
    'model_provider_failed',
    'model_timeout',
    'vector_unavailable',
  ],
  input: z.strictObject({
    name,
    model: model.optional().describe('The embedding model. Default: the one the collection has'),
    dimension: dimension.optional().describe('Numbers of a vector, of a model that lets one choose'),
  }),
  output: Collection,
  before: ({ rag }, input) => rag.get(input.name),
  handle: ({ rag }, { name: of, ...options }, { signal }) => rag.reindex(of, withoutUndefined(options), signal),
});

export const deleteCollection = operation({
  ...room,
  id: 'rag.collections.delete',
  summary: 'Delete a collection with its documents and their vectors',
  route: 'DELETE /api/rag/collections/:name',
  kind: 'write',
  permission: 'rag:admin',
  confirm: true,
  errors: ['rag_collection_not_found'],
  input: z.strictObject({ name }),
  output: z.object({ name: z.string(), deleted: z.literal(true) }),
  before: ({ rag }, input) => rag.get(input.name),
  async handle({ rag }, input) {
    await rag.delete(input.name);
    return { name: input.name, deleted: true as const };
  },
});
