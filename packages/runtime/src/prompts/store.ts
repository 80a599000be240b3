import { z } from 'zod';

export const OwnerKind = z.enum(['agent', 'workflow', 'workspace']).describe('Whose prompt it is');
export type OwnerKind = z.infer<typeof OwnerKind>;

/** A prompt as every surface shows it. Its texts are its versions. */
export const Prompt = z.object({
  id: z.uuid(),
  ownerKind: OwnerKind,
  ownerName: z.string().describe('The agent or workflow; a sub-agent as `<agent>/<name>`; empty for the workspace'),
  key: z.string().describe('What code asks for it by; `instructions` of an agent takes the place of those in its code'),
  name: z.string().describe('What people call it'),
  note: z.string().nullable(),
  publishedVersion: z.int().nullable().describe('The version in force; null: none has been published'),
  latestVersion: z.int(),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Prompt = z.infer<typeof Prompt>;

/** One version, which never changes. */
export const PromptVersion = z.object({
  version: z.int(),
  note: z.string().nullable().describe('Why it was written'),
  isPublished: z.boolean(),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
});
export type PromptVersion = z.infer<typeof PromptVersion>;

export const PromptText = PromptVersion.extend({ text: z.string() });
export type PromptText = z.infer<typeof PromptText>;

/** What a prompt belongs to, and what it is asked for by. */
export interface PromptKey {
  ownerKind: OwnerKind;
  /** Empty for the workspace. */
  ownerName: string;
  key: string;
}

/** The text in force, and how a run names it. */
export interface PublishedPrompt {
  promptId: string;
  version: number;
  text: string;
}

export interface NewPrompt extends PromptKey {
  name: string;
  note: string | null;
  text: string;
  by: string;
}

export interface NewVersion {
  text: string;
  note: string | null;
  by: string;
}

export interface Page {
  limit: number;
  cursor?: string;
}

export interface PageOf<T> {
  items: T[];
  nextCursor: string | null;
}

export type Publication = { prompt: Prompt } | 'no_prompt' | 'no_version' | 'nothing_before';

/** The prompts and their versions. Undefined, or `no_prompt`: there is no prompt of that id. */
export interface PromptStore {
  /** Newest first. Throws `invalid_cursor`. */
  list(filter: Partial<PromptKey>, page: Page): Promise<PageOf<Prompt>>;
  find(id: string): Promise<Prompt | undefined>;
  /** With version 1, which is not published. Undefined: the owner has one of that key. */
  create(prompt: NewPrompt): Promise<Prompt | undefined>;
  update(id: string, change: { name?: string; note?: string | null }): Promise<Prompt | undefined>;
  remove(id: string): Promise<Prompt | undefined>;
  /** Newest first, without their texts. Throws `invalid_cursor`. */
  listVersions(id: string, page: Page): Promise<PageOf<PromptVersion>>;
  findVersion(id: string, version: number): Promise<PromptText | undefined>;
  /** However many are added at once, each gets the number after the last. */
  addVersion(id: string, version: NewVersion): Promise<PromptText | undefined>;
  /** Default: the latest version. */
  publish(id: string, version: number | undefined, by: string): Promise<Publication>;
  /** Publishes the version that was in force before the one that is. */
  rollback(id: string, by: string): Promise<Publication>;
  findPublished(key: PromptKey): Promise<PublishedPrompt | undefined>;
}
