import { z } from 'zod';

export const WorkflowProblem = z.object({
  code: z.string(),
  message: z.string(),
  file: z.string(),
  line: z.int(),
  column: z.int(),
  frame: z.string(),
});

const JsonSchema = z.record(z.string(), z.unknown()).nullable();

/** What a workflow takes, gives and publishes, as JSON Schemas; null: it does not say. */
export const WorkflowSchemas = z.object({
  input: JsonSchema,
  output: JsonSchema,
  state: z.record(z.string(), z.unknown()).optional().describe('Of what its runs publish. Absent: it does not say'),
});
export type WorkflowSchemas = z.output<typeof WorkflowSchemas>;

const isKeyed = z.boolean().describe('Whether it is counted for each value of a key');
const StartRate = z.object({ limit: z.int(), periodMs: z.int(), isKeyed });

export const Workflow = z.object({
  name: z.string(),
  trigger: z.string().describe('The start route'),
  hasSchema: z.boolean(),
  mode: z.enum(['task', 'chat']),
  serial: z.boolean().describe('Whether one run at a time is accepted'),
  concurrency: z
    .object({ limit: z.int(), isKeyed, onConflict: z.enum(['queue', 'reject']) })
    .nullable()
    .describe('How many runs there may be at once'),
  throttle: StartRate.nullable().describe('How many may begin within a period: more wait'),
  rateLimit: StartRate.nullable().describe('How many may be started within a period: more are refused'),
  debounce: z
    .object({ periodMs: z.int(), timeoutMs: z.int().nullable(), isKeyed })
    .nullable()
    .describe('A start waits until there was no other for the period; the last input wins'),
  schedules: z.int().describe('How many timers it declares'),
  event: z.string().nullable().describe('The event that starts it: `export const on`'),
  steps: z.array(z.object({ id: z.string(), name: z.string() })),
  state: z
    .enum(['ready', 'stale', 'failed'])
    .describe('stale: the code does not load, and the last version that did is served'),
  problem: WorkflowProblem.nullable().describe('Why the workflow does not load, with file, line and code frame'),
});

/** A workflow as lists show it: its start route, its steps, and why it does not load. */
export type WorkflowSummary = z.output<typeof Workflow>;
