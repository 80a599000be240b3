import { z } from 'zod';
import type { EvalInput, EvalTarget } from './case.ts';
import type { Scorer } from './scorer.ts';
import { Gates } from './suite.ts';
import type { Online } from './suite.ts';

/** A version of a prompt, with what it is asked for by. */
export const PinnedPrompt = z.object({
  promptId: z.uuid(),
  version: z.int(),
  ownerKind: z.enum(['agent', 'workflow', 'workspace']),
  ownerName: z.string(),
  key: z.string(),
});
export type PinnedPrompt = z.infer<typeof PinnedPrompt>;

/** How a run was launched. */
export interface RunPlan {
  gates: Gates;
  samples: number;
  concurrency: number;
  timeoutMs: number;
  model: string | null;
  prompts: PinnedPrompt[];
  note: string | null;
  /** Live turns are scored by it; nothing is run. */
  online?: Online;
}

/** A case as it was at the launch, with all that is asked of it. */
export interface RunCase {
  name: string;
  target: EvalTarget;
  input: EvalInput;
  expected: { value: unknown } | null;
  scorers: Scorer[];
  tags: string[];
}

/** What one scorer says of one sample. */
export interface ScoredCell {
  scorer: string;
  score: number;
  passed: boolean;
  weight: number;
  /** Why, where there is more to say. */
  note?: string;
  /** It could not be asked. */
  error?: string;
}

const score = z.number().describe('From 0 to 1');

/** The spread of a score over samples. */
const Spread = z.object({
  mean: score,
  min: score,
  max: score,
  deviation: z.number().describe('The standard deviation'),
});
export type Spread = z.infer<typeof Spread>;

const ScorerSummary = z.object({
  scorer: z.string(),
  score: score.describe('The mean of all it was asked of'),
  passRate: z.number(),
  results: z.int(),
});

const GateResult = z.object({
  gate: z.string().describe('`passRate`, `score`, or `scorer <name>`'),
  wanted: z.number(),
  got: z.number().nullable().describe('Null: it was asked of nothing'),
  passed: z.boolean(),
});

export const RunSummary = z.object({
  gates: z.array(GateResult),
  scorers: z.array(ScorerSummary),
  results: z.int().describe('What is scored so far'),
  passed: z.int().describe('How many of them pass'),
  errors: z.int().describe('How many of them could not be run'),
  inputTokens: z.int().describe('Of what was run'),
  outputTokens: z.int(),
});
export type RunSummary = z.infer<typeof RunSummary>;

export const EvalRunStatus = z.enum(['running', 'completed', 'failed', 'cancelled']);

/** One launch of a suite. */
export const EvalRun = z.object({
  id: z.uuid().describe('Also the id of the run that carries it out'),
  suiteId: z.uuid().nullable().describe('Null: the suite was deleted'),
  suite: z.string(),
  origin: z.enum(['launch', 'online']).describe('online: live turns of one day'),
  status: EvalRunStatus,
  passed: z.boolean().nullable().describe('Whether it reached its gates. Null: it has not ended by itself'),
  score: score.nullable(),
  planned: z.int().describe('How many results there will be'),
  summary: RunSummary,
  gates: Gates,
  samples: z.int(),
  concurrency: z.int(),
  timeoutMs: z.int(),
  model: z.string().nullable(),
  prompts: z.array(PinnedPrompt),
  note: z.string().nullable(),
  error: z.string().nullable(),
  startedBy: z.string(),
  createdAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});
export type EvalRun = z.infer<typeof EvalRun>;

const Cell = Spread.extend({
  scorer: z.string(),
  passRate: z.number(),
  note: z.string().nullable().describe('Why, of the sample with the lowest score'),
});

export const EvalSample = z.object({
  sample: z.int().describe('From 1'),
  runId: z.string().nullable().describe('The run, `svc runs get`. Null: it was not started'),
  score,
  passed: z.boolean(),
  error: z.string().nullable(),
  latencyMs: z.int().nullable(),
  inputTokens: z.int(),
  outputTokens: z.int(),
});

/** A row of the matrix. */
export const EvalRow = z.object({
  caseId: z.string(),
  name: z.string(),
  target: z.object({ kind: z.enum(['agent', 'workflow']), name: z.string() }),
  tags: z.array(z.string()),
  passRate: z.number().nullable().describe('Share of its samples that pass. Null: none is scored yet'),
  score: Spread.nullable(),
  cells: z.array(Cell),
  samples: z.array(EvalSample),
});
export type EvalRow = z.infer<typeof EvalRow>;
