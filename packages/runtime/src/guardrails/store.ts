import { z } from 'zod';
import type { Hidden } from '../auth/visibility.ts';

/** Where a text is judged. */
export const Side = z.enum(['workflow-input', 'agent-input', 'agent-output', 'tool-call', 'tool-result']);
export type Side = z.infer<typeof Side>;

export const Action = z
  .enum(['block', 'mask', 'hold', 'audit'])
  .describe(
    '`mask`: the place found is replaced; `hold`: it waits until an operator has decided; `audit`: it passes, and the hit is recorded',
  );
export type Action = z.infer<typeof Action>;

/** Kinds of personal data and of credentials that are found by their form and their check digits. */
export const PersonalData = z.enum(['email', 'phone', 'iban', 'card', 'ip', 'national-id', 'secret']);
export type PersonalData = z.infer<typeof PersonalData>;

/** What a model finds that it breaks a rule. */
export const ModelCheck = z.strictObject({
  kind: z.literal('model'),
  rubric: z.string().trim().min(1).max(10_000).describe('What breaks the rule, in words for a model'),
  labels: z
    .array(
      z.string().regex(/^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u, {
        error: 'Use 1 to 40 letters, digits, " ", "-", "_" and "."',
      }),
    )
    .max(20)
    .default([])
    .describe('What a hit can be; the one that the model chooses is its reason'),
  model: z.string().min(1).max(200).optional().describe('Default: the default model of the box'),
  timeoutMs: z.int().min(100).max(60_000).default(10_000).describe('How long its answer may take'),
});
export type ModelCheck = z.infer<typeof ModelCheck>;

export const Check = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('regex'),
    pattern: z.string().min(1).max(1_000).describe('In the syntax of RE2, which has no backreference and no lookahead'),
    ignoreCase: z.boolean().default(false),
  }),
  z.strictObject({
    kind: z.literal('words'),
    words: z.array(z.string().trim().min(1).max(100)).min(1).max(20_000),
    ignoreCase: z.boolean().default(true),
    wholeWord: z.boolean().default(true).describe('Whole words only'),
  }),
  z.strictObject({
    kind: z.literal('pii'),
    kinds: z.array(PersonalData).min(1).max(7).describe('What is looked for'),
  }),
  z.strictObject({ kind: z.literal('injection') }),
  z.strictObject({
    kind: z.literal('length'),
    max: z.int().min(1).optional().describe('Characters'),
    min: z.int().min(1).optional().describe('Characters'),
  }),
  z.strictObject({
    kind: z.literal('schema'),
    schema: z.record(z.string(), z.unknown()).describe('A JSON Schema; what it does not take is a hit'),
  }),
  ModelCheck,
]);
export type Check = z.infer<typeof Check>;

export const Attachment = z
  .strictObject({
    kind: z.enum(['workspace', 'agent', 'workflow']),
    name: z.string().max(200).default('').describe('The agent, with its sub-agents, or the workflow; empty: all'),
  })
  .describe('Whose texts are judged, as {"kind":"agent","name":"support"}');
export type Attachment = z.infer<typeof Attachment>;

/** A check of the workspace's own, of which only that there is one can be shown. */
export const CodeCheck = z.strictObject({
  kind: z.literal('code'),
  timeoutMs: z.int().describe('How long one answer may take'),
});

/** A rule as every surface shows it. */
export const Guardrail = z.object({
  id: z.uuid(),
  name: z.string(),
  note: z.string().nullable(),
  order: z.int().describe('Rules are asked in this order, from 1'),
  origin: z.enum(['api', 'code']).describe('`code`: a file of the workspace declares it, and nothing else changes it'),
  file: z.string().nullable().describe('The file that declares it; null: none does'),
  problem: z
    .string()
    .nullable()
    .describe('Why its file does not load, or its check cannot judge: all is blocked that it may have to judge'),
  check: z.discriminatedUnion('kind', [...Check.options, CodeCheck]),
  sides: z.array(Side),
  action: Action,
  attachment: Attachment,
  enabled: z.boolean(),
  failClosed: z.boolean().describe('A check that fails counts as a hit that blocks; false: the text passes'),
  createdBy: z.string(),
  createdAt: z.iso.datetime().nullable().describe('Null: it is as old as its file'),
  updatedAt: z.iso.datetime().nullable(),
});
export type Guardrail = z.infer<typeof Guardrail>;

/** One that is kept as data. */
export type StoredGuardrail = Guardrail & { check: Check };

/** What a rule found, without the text it found it in. */
export const Hit = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  ruleId: z.string(),
  ruleName: z.string(),
  side: Side,
  action: Action,
  place: z.string().describe('`agent <name>` or `workflow <name>`'),
  runId: z.uuid().nullable(),
  count: z.int().describe('How often it was found in that text'),
  reason: z.string().nullable().describe('What was found, in a word; or why the rule was not applied'),
  isApplied: z.boolean().describe('False: the check failed, and the rule lets pass what it cannot check'),
});
export type Hit = z.infer<typeof Hit>;

export type NewHit = Omit<Hit, 'id' | 'at'> & { askedBy: string | null };

export type NewGuardrail = Pick<
  Guardrail,
  'name' | 'note' | 'sides' | 'action' | 'attachment' | 'enabled' | 'failClosed'
> & { check: Check; by: string };

export type GuardrailChange = Partial<Omit<NewGuardrail, 'by'>>;

export interface HitFilter {
  ruleId?: string;
  hidden?: Hidden;
}

export interface HitPage {
  items: Hit[];
  nextCursor: string | null;
}

/** The rules and their hits. Undefined: there is no rule of that id. */
export interface GuardrailStore {
  /** All, in their order. */
  list(): Promise<StoredGuardrail[]>;
  find(id: string): Promise<StoredGuardrail | undefined>;
  /** Behind the others. `name_taken`: there is one of that name; `full`: there are as many as may be. */
  create(rule: NewGuardrail): Promise<StoredGuardrail | 'name_taken' | 'full'>;
  update(id: string, change: GuardrailChange): Promise<StoredGuardrail | 'name_taken' | undefined>;
  /** Those that are named first, in this order, the others behind them. Answers the ids that are none. */
  order(ids: readonly string[]): Promise<string[]>;
  remove(id: string): Promise<StoredGuardrail | undefined>;
  addHits(hits: readonly (NewHit & { at: Date })[]): Promise<void>;
  /** Newest first, without those of what is hidden. Throws `invalid_cursor`. */
  listHits(filter: HitFilter, page: { limit: number; cursor?: string }): Promise<HitPage>;
  /** Answers how many have gone. */
  deleteHits(before: Date, limit: number): Promise<number>;
}
