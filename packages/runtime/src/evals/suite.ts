import { z } from 'zod';
import { Tags } from './case.ts';
import { ScorerList } from './scorer.ts';

const rate = z.number().min(0).max(1);

/** What a run of a suite has to reach to pass. */
export const Gates = z.strictObject({
  passRate: rate.default(1).describe('Share of the results that have to pass'),
  score: rate.optional().describe('The least mean score'),
  scorers: z
    .array(z.strictObject({ scorer: z.string().max(64), score: rate.describe('Its least mean score') }))
    .max(20)
    .default([]),
});
export type Gates = z.infer<typeof Gates>;

/** A version of a prompt that is used in place of the published one. */
export const PromptChoice = z.strictObject({ promptId: z.uuid(), version: z.int().positive() });
export type PromptChoice = z.infer<typeof PromptChoice>;

const model = z.string().min(1).max(200).nullable();

/** Share of the turns of live traffic that are scored. */
export const Online = z.strictObject({
  agent: z.string().min(1).max(200).describe('The agent whose turns are scored'),
  share: z.number().gt(0).max(1).describe('1: every turn'),
});
export type Online = z.infer<typeof Online>;

/** How a suite runs. */
export const SuiteSettings = z.object({
  tags: Tags.default([]).describe('Every case with one of these tags is in it as well, as of its launch'),
  scorers: ScorerList.default([]).describe('Asked of every case, besides its own'),
  gates: Gates.prefault({}),
  samples: z.int().min(1).max(20).default(1).describe('How often each case is run'),
  concurrency: z.int().min(1).max(50).default(4).describe('How many are run at once'),
  timeoutMs: z.int().min(1_000).max(86_400_000).default(300_000).describe('How long one may take'),
  model: model.default(null).describe('In place of the model of agents, and of the default one. Null: theirs'),
  prompts: z.array(PromptChoice).max(20).default([]).describe('In place of what is published'),
  online: Online.nullable().default(null).describe('Live turns that are scored by it, after they end'),
});
export type SuiteSettings = z.infer<typeof SuiteSettings>;

/** Words of `svc eval`. */
const RESERVED = new Set(['list', 'get', 'compare', 'cancel']);

export const SuiteName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,63}$/, { error: 'Use 1 to 64 lower-case letters, digits and "-", a letter first' })
  .refine((name) => !RESERVED.has(name), { error: 'It is a word of `svc eval`. Take another' });

export const Suite = z.object({
  id: z.uuid(),
  name: z.string(),
  note: z.string().nullable(),
  cases: z.array(z.uuid()).describe('Those that are named one by one, in their order'),
  ...SuiteSettings.shape,
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Suite = z.infer<typeof Suite>;

/** Cases that one run may have, samples counted. */
export const MOST_RESULTS = 1_000;

export interface NewSuite extends SuiteSettings {
  name: string;
  note: string | null;
  cases: string[];
  by: string;
}
