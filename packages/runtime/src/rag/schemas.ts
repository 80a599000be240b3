import { z } from 'zod';
import { explainText, StorableText } from '../operations/inputs.ts';

/** What the room is given and what it answers, as the surfaces show it. */

export const CollectionName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}$/, 'Use 1 to 63 lower-case letters, digits and "-", beginning with a letter')
  .describe('The name of the collection');

export const DocumentId = StorableText.min(1)
  .max(500)
  .refine((id) => id !== '.' && id !== '..', 'No document is called so: it would be lost in an address')
  .describe('The id of the document: a path or a number of its own. The same id replaces it');

export const DOCUMENT_STATES = ['queued', 'embedding', 'ready', 'failed'] as const;
export type DocumentState = (typeof DOCUMENT_STATES)[number];

export const TEXT_FORMATS = ['markdown', 'text'] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];

export type Scalar = string | number | boolean;
export type Metadata = Record<string, Scalar | Scalar[]>;

const Value = z.union([StorableText.max(1_000), z.number(), z.boolean()]);
const Key = z
  .string()
  .min(1)
  .max(100)
  .refine((key) => explainText(key) === undefined, 'It has a character that is not kept');

export const MetadataInput = z
  .record(Key, z.union([Value, z.array(Value).max(50)]))
  .refine((metadata) => Buffer.byteLength(JSON.stringify(metadata)) <= METADATA_BYTES, 'At most 8 KiB as JSON')
  .describe('What searches filter by: texts, numbers, booleans, or lists of them under names. At most 8 KiB');

export const Filter = z
  .record(Key, z.union([Value, z.strictObject({ in: z.array(Value).min(1).max(50) })]))
  .refine((filter) => Object.keys(filter).length <= 10, 'At most 10 members')
  .describe(
    'Only chunks of documents whose metadata has these values: {"team": "billing", "year": {"in": [2025, 2026]}}. A list has each of its values',
  );
export type Filter = z.infer<typeof Filter>;

export const Chunking = z.object({
  size: z.int().describe('Tokens of a chunk, at most'),
  overlap: z.int().describe('Tokens a chunk repeats of the one before, at most'),
  markdown: z.boolean().describe('Whether headings of Markdown part chunks, and code stays whole where it fits'),
});
export type Chunking = z.infer<typeof Chunking>;

export const ChunkingInput = z
  .strictObject({
    size: z.int().min(50).max(2_000).optional().describe('Tokens of a chunk, at most. Default 400'),
    overlap: z.int().min(0).max(500).optional().describe('Tokens a chunk repeats of the one before. Default 60'),
    markdown: z.boolean().optional().describe('Whether headings of Markdown part chunks. Default true'),
  })
  .describe('How documents are cut. A token is taken to be some four letters');

const Embedding = z.object({
  model: z.string(),
  dimension: z.int().describe('Numbers of a vector'),
});

const Counts = z.object({
  documents: z.int(),
  ready: z.int().describe('Documents whose newest version answers'),
  pending: z.int().describe('Documents that wait, or are being embedded'),
  failed: z.int(),
  chunks: z.int(),
});

export const Collection = z.object({
  name: z.string(),
  description: z.string().nullable(),
  chunking: Chunking,
  embedding: Embedding,
  rerankModel: z.string().nullable().describe('The model that puts what searches find in its order. Null: none'),
  index: z.object({
    state: z.enum(['ready', 'indexing', 'reindexing']).describe('`indexing`: some documents are not embedded yet'),
    next: Embedding.extend({
      state: z
        .enum(['embedding', 'stopped'])
        .describe('`stopped`: documents that answer cannot be embedded with it, so what answered goes on to'),
      documents: z.int(),
      ready: z.int(),
      failed: z.int(),
      error: z.string().nullable().describe('A document with why it failed, or why it is tried again'),
      since: z.iso.datetime(),
    })
      .nullable()
      .describe('What it is being re-embedded with, and how far that is'),
  }),
  counts: Counts,
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Collection = z.infer<typeof Collection>;

export const Document = z.object({
  id: z.string(),
  title: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  format: z.enum(TEXT_FORMATS),
  characters: z.int(),
  contentHash: z.string().describe('SHA-256 of the text, in hex'),
  state: z.enum(DOCUMENT_STATES),
  error: z.string().nullable().describe('Why it failed, or why it is tried again'),
  version: z.int(),
  answering: z.int().nullable().describe('The version whose chunks searches find. Null: none yet'),
  chunks: z.int().describe('Of the version that answers'),
  addedBy: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Document = z.infer<typeof Document>;

export const Place = z.object({
  headings: z.array(z.string()).describe('The headings above it, the outermost first'),
  start: z.int().describe('Where it begins in the text of the document, in UTF-16 units from 0'),
  end: z.int(),
  line: z.int().describe('The line it begins on, from 1'),
  page: z.int().nullable().describe('The page it begins on, from 1, of a document that has pages'),
});
export type Place = z.infer<typeof Place>;

export const Chunk = z.object({
  chunk: z.int().describe('Its number in the document, from 0'),
  text: z.string(),
  place: Place,
});
export type Chunk = z.infer<typeof Chunk>;

export const Hit = z.object({
  documentId: z.string(),
  title: z.string().nullable(),
  chunk: z.int(),
  text: z.string(),
  score: z.number().describe('From 0 to 1, which is the first by vector and by words'),
  vectorRank: z.int().nullable().describe('Its place among the nearest vectors, from 1'),
  textRank: z.int().nullable().describe('Its place among those with the words, from 1'),
  similarity: z.number().nullable().describe('Cosine of its vector and that of the query'),
  rerankScore: z
    .number()
    .nullable()
    .describe(
      'How relevant the rerank model finds it, on a scale of its own. Null: it was not asked, or did not answer',
    ),
  metadata: z.record(z.string(), z.unknown()),
  place: Place,
});

export const Rerank = z.object({
  model: z.string(),
  applied: z.boolean().describe('False: it failed, and the order is that of the search'),
  error: z.string().nullable().describe('Why it failed'),
});

export const MODES = ['hybrid', 'vector', 'text'] as const;

/** Characters of a document that is added. */
export const MOST_CHARACTERS = 5_000_000;

// --- internal ---

const METADATA_BYTES = 8_192;
