import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import type { CallRerank } from '../agents/model/rerank.ts';
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

export interface Given extends Pick<RagOptions, 'db' | 'log' | 'embeddingModel' | 'rerankModel' | 'isOpen'> {
  isBlank(): boolean;
  opening: { callEmbeddings: CallEmbeddings; callRerank: CallRerank };
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
  create: ({ db, log, embeddingModel, rerankModel, isOpen, isBlank, opening, options }: Given) =>
    createRag({
      db,
      log,
      embeddingModel,
      rerankModel,
      callEmbeddings: opening.callEmbeddings,
      callRerank: opening.callRerank,
      isOpen: () => isOpen() && !isBlank(),
      limits: options.rag,
    }),
  close: (rag) => rag.close(),
});
