import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Mask } from '../mask.ts';
import { defineRoom } from '../operations/room.ts';
import { createMemory } from './memory.ts';
import type { MemoryRoomOptions } from './memory.ts';
import { clearMemory, listMemory } from './operations.ts';

export interface Given extends Pick<MemoryRoomOptions, 'db' | 'log' | 'embeddingModel' | 'isOpen'> {
  isBlank(): boolean;
  catalog: Pick<Catalog, 'agents'>;
  foundation: { mask: Mask };
  opening: { callEmbeddings: CallEmbeddings };
  options: { memory?: MemoryRoomOptions['limits'] };
}

export const memoryRoom = defineRoom({
  name: 'memory',
  operations: [listMemory, clearMemory],
  create: ({ db, log, embeddingModel, isOpen, isBlank, catalog, foundation, opening, options }: Given) =>
    createMemory({
      db,
      log,
      mask: foundation.mask,
      embeddingModel,
      callEmbeddings: opening.callEmbeddings,
      agents: () => listRemembering(catalog),
      isOpen: () => isOpen() && !isBlank(),
      limits: options.memory,
    }),
  close: (memory) => memory.close(),
});

// --- internal ---

function listRemembering(catalog: Pick<Catalog, 'agents'>): string[] {
  return catalog.agents().flatMap(({ entry, definition }) => {
    const { memory = false } = definition?.agent ?? {};
    return memory === false ? [] : [entry.name];
  });
}
