import { z } from 'zod';
import { StorableText } from '../operations/inputs.ts';
import { ScorerList } from './scorer.ts';

/** What a case asks. */
export const EvalTarget = z.strictObject({
  kind: z.enum(['agent', 'workflow']),
  name: z.string().min(1).max(200).describe('The agent or workflow'),
});
export type EvalTarget = z.infer<typeof EvalTarget>;

const Said = z.strictObject({ role: z.enum(['user', 'assistant']), content: StorableText.max(100_000) });

/** Of an agent: what it is said. Of a workflow: the input of its start. */
export type EvalInput =
  | { message: string; before?: { role: 'user' | 'assistant'; content: string }[] }
  | { value: unknown };

/** The input of a case whose target is an agent. */
export const AgentInput = z.union([
  StorableText.min(1).max(100_000),
  z.strictObject({
    message: StorableText.min(1).max(100_000),
    before: z.array(Said).max(100).default([]).describe('What was said before it'),
  }),
]);

const TAG = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, { error: 'Use 1 to 64 lower-case letters, digits, ".", "-" and "_"' });
export const Tags = z.array(TAG).max(20);

export const CaseName = StorableText.trim().min(1).max(200);
export const Note = StorableText.max(2_000).nullable();

/** One case, as every surface shows it. */
export const EvalCase = z.object({
  id: z.uuid(),
  name: z.string(),
  target: z.object({ kind: z.enum(['agent', 'workflow']), name: z.string() }),
  input: z
    .unknown()
    .describe('Of an agent: the message, or `{message, before}`. Of a workflow: what it is started with'),
  expected: z.unknown().describe('What is expected; without it the member is left out'),
  scorers: ScorerList,
  tags: z.array(z.string()),
  note: z.string().nullable(),
  fromRunId: z.string().nullable().describe('The run it was made from'),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type EvalCase = z.infer<typeof EvalCase>;

export interface NewCase {
  name: string;
  target: EvalTarget;
  input: EvalInput;
  expected: { value: unknown } | null;
  scorers: EvalCase['scorers'];
  tags: string[];
  note: string | null;
  fromRunId: string | null;
  by: string;
}

/** The input as it is shown. */
export function toShownInput(input: EvalInput): unknown {
  if ('value' in input) return input.value;
  return input.before?.length ? input : input.message;
}
