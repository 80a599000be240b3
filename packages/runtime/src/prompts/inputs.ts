import { z } from 'zod';
import { OwnerKind } from './store.ts';
import { PROMPT_KEY, PROMPT_KEY_RULE } from './key.ts';

/** What the operations of the room share. Texts are for those who may read prompts: every seat reads the activity log. */
export const ROOM = {
  tag: 'prompts',
  permission: 'config:write',
  copilot: 'yes',
  secret: ['name', 'note', 'text'],
} as const;

/** The store keeps no such character. */
const isKept = (text: string): boolean => !text.includes('\0');
const NOT_KEPT = { error: 'It must not hold the character U+0000' };

export const LINE = z.string().trim().min(1).max(200).refine(isKept, NOT_KEPT).describe('What people call it');

export const NOTE = z.string().max(2_000).refine(isKept, NOT_KEPT).nullable().default(null);

export const TEXT = z
  .string()
  .refine((text) => text.trim() !== '', { error: 'It must not be empty' })
  .refine(isKept, NOT_KEPT)
  .describe('At most 256 KiB');

export const PromptInput = z
  .strictObject({
    ownerKind: OwnerKind,
    ownerName: z
      .string()
      .max(200)
      .refine(isKept, NOT_KEPT)
      .default('')
      .describe('The agent or workflow; a sub-agent as `<agent>/<name>`; left out for the workspace'),
    key: z
      .string()
      .regex(PROMPT_KEY, { error: PROMPT_KEY_RULE })
      .describe('What code asks for it by; `instructions` of an agent takes the place of those in its code'),
    name: LINE,
    note: NOTE,
    text: TEXT,
  })
  .refine(({ ownerKind, ownerName }) => (ownerKind === 'workspace') === (ownerName === ''), {
    path: ['ownerName'],
    error: 'Name the agent or the workflow; a prompt of the workspace has no owner name',
  });
