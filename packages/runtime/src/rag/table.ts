import { sql } from 'drizzle-orm';
import {
  boolean,
  foreignKey,
  index,
  integer,
  jsonb,
  primaryKey,
  real,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { boxSchema } from '../stores/table.ts';
import type { DocumentState, Metadata, TextFormat } from './schemas.ts';

const at = (name: string) => timestamp(name, { withTimezone: true });

/** Texts that are searched together. Their chunks lie in a table that is made with the collection: see `chunk-table.ts`. */
export const ragCollections = boxSchema.table(
  'rag_collections',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    description: text('description'),
    /** How documents are cut from now on, in tokens. */
    chunkSize: integer('chunk_size').notNull(),
    chunkOverlap: integer('chunk_overlap').notNull(),
    chunkMarkdown: boolean('chunk_markdown').notNull(),
    /** Puts what searches find in its order. Null: they are left as they are. */
    rerankModel: text('rerank_model'),
    createdBy: text('created_by').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (table) => [uniqueIndex('rag_collections_by_name').on(table.name)],
);

const collectionId = () =>
  uuid('collection_id')
    .notNull()
    .references(() => ragCollections.id, { onDelete: 'cascade' });

/** A chunk table, and the model its vectors are of. A collection has one that answers, and may have one that is being built. */
export const ragIndexes = boxSchema.table(
  'rag_indexes',
  {
    id: uuid('id').primaryKey(),
    collectionId: collectionId(),
    state: text('state').$type<'live' | 'building'>().notNull(),
    model: text('model').notNull(),
    dimension: integer('dimension').notNull(),
    /** The model is asked for so many numbers; else it gives what it gives. */
    isDimensionAsked: boolean('is_dimension_asked').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (table) => [uniqueIndex('rag_indexes_by_state').on(table.collectionId, table.state)],
);

/** What was added, in its newest version. What answers meanwhile is in the chunks. */
export const ragDocuments = boxSchema.table(
  'rag_documents',
  {
    collectionId: collectionId(),
    id: text('id').notNull(),
    version: integer('version').notNull(),
    title: text('title'),
    metadata: jsonb('metadata').$type<Metadata>().notNull(),
    format: text('format').$type<TextFormat>().notNull(),
    text: text('text').notNull(),
    /** Where in the text each page begins. Null: it has none. */
    pages: jsonb('pages').$type<number[]>(),
    /** SHA-256 of the text, in hex. */
    contentHash: text('content_hash').notNull(),
    characters: integer('characters').notNull(),
    addedBy: text('added_by').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.collectionId, table.id] })],
);

/** How far a document has got in an index. */
export const ragIngests = boxSchema.table(
  'rag_ingests',
  {
    indexId: uuid('index_id')
      .notNull()
      .references(() => ragIndexes.id, { onDelete: 'cascade' }),
    collectionId: uuid('collection_id').notNull(),
    documentId: text('document_id').notNull(),
    /** The version that is wanted. */
    version: integer('version').notNull(),
    /** The version whose chunks answer. Null: none does. */
    readyVersion: integer('ready_version'),
    state: text('state').$type<DocumentState>().notNull(),
    error: text('error'),
    /** In a row, without a batch that was kept. */
    attempts: integer('attempts').notNull().default(0),
    chunks: integer('chunks').notNull().default(0),
    /** Of an index that is being built: those of the others go first. */
    isAnew: boolean('is_anew').notNull().default(false),
    /** Not taken before. */
    dueAt: at('due_at').notNull().defaultNow(),
    /** Which process is at it, and until when none of the others is. */
    leaseId: uuid('lease_id'),
    leaseUntil: at('lease_until'),
    readyAt: at('ready_at'),
  },
  (table) => [
    primaryKey({ columns: [table.indexId, table.documentId] }),
    foreignKey({
      name: 'rag_ingests_document',
      columns: [table.collectionId, table.documentId],
      foreignColumns: [ragDocuments.collectionId, ragDocuments.id],
    }).onDelete('cascade'),
    index('rag_ingests_by_document').on(table.collectionId, table.documentId),
    index('rag_ingests_due')
      .on(table.isAnew, table.dueAt)
      .where(sql`${table.state} in ('queued', 'embedding')`),
  ],
);

/** Vectors by what was embedded, so that nothing is twice. Those that were not asked for in a while are forgotten. */
export const ragVectors = boxSchema.table(
  'rag_vectors',
  {
    /** SHA-256 of the model, how many numbers it gives, whether it was asked for so many, and the text, in base64url. */
    key: text('key').primaryKey(),
    embedding: real('embedding').array().notNull(),
    usedAt: at('used_at').notNull().defaultNow(),
  },
  (table) => [index('rag_vectors_by_use').on(table.usedAt)],
);
