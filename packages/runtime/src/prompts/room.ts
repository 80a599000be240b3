import { defineRoom } from '../operations/room.ts';
import { createPrompt, deletePrompt, getPrompt, listPrompts, updatePrompt } from './operations.ts';
import { createPrompts } from './prompts.ts';
import type { PromptsOptions } from './prompts.ts';
import {
  addPromptVersion,
  diffPromptVersions,
  getPromptVersion,
  listPromptVersions,
  publishPrompt,
  rollbackPrompt,
} from './version-operations.ts';

export const promptsRoom = defineRoom({
  name: 'prompts',
  operations: [
    listPrompts,
    createPrompt,
    getPrompt,
    updatePrompt,
    deletePrompt,
    listPromptVersions,
    getPromptVersion,
    addPromptVersion,
    diffPromptVersions,
    publishPrompt,
    rollbackPrompt,
  ],
  create: ({ db, kv, isBlank }: PromptsOptions) => createPrompts({ db, kv, isBlank }),
  close: (prompts) => prompts.close(),
});
