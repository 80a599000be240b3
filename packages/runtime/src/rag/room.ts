import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import { defineRoom } from '../operations/room.ts';
import { addDocument, deleteDocument, getDocument, listDocuments, searchCollection } from './document-operations.ts';
import {
  createCollection,
  deleteCollection,
  getCollection,
  listCollections,
  reindexCollection,
  updateCollection,
} from './operations.ts';
import { createRag } from './rag.ts';
import type { RagOptions } from './rag.ts';
import { uploadDocument } from './upload-operation.ts';

export interface Given extends Pick<RagOptions, 'db' | 'log' | 'embeddingModel' | 'isOpen'> {
  isBlank(): boolean;
  opening: { callEmbeddings: CallEmbeddings };
  options: { rag?: RagOptions['limits'] };
}

export const ragRoom = defineRoom({
  name: 'rag',
  operations: [
    listCollections,
    getCollection,
    createCollection,
    updateCollection,
    reindexCollection,
    deleteCollection,
    listDocuments,
    getDocument,
    addDocument,
    uploadDocument,
    deleteDocument,
    searchCollection,
  ],
  create: ({ db, log, embeddingModel, isOpen, isBlank, opening: { callEmbeddings }, options }: Given) =>
    createRag({
      db,
      log,
      embeddingModel,
      callEmbeddings,
      isOpen: () => isOpen() && !isBlank(),
      limits: options.rag,
    }),
  close: (rag) => rag.close(),
});
