import { defineRoom } from '../operations/room.ts';
import { createModels } from './models.ts';
import { deleteProvider, getProvider, listModels, setProvider, testProvider } from './operations.ts';
import type { ModelProvider } from './provider.ts';

/** To store one opens the gate, so both are made together. */
export const providerRoom = defineRoom({
  name: 'provider',
  operations: [getProvider, setProvider, testProvider, deleteProvider],
  create: ({ opening }: { opening: { provider: ModelProvider } }) => opening.provider,
});

export const modelsRoom = defineRoom({
  name: 'models',
  operations: [listModels],
  create: ({ provider }: { provider: ModelProvider }) => createModels(provider),
});
