import { z } from 'zod';

export const WorkflowProblem = z.object({
  code: z.string(),
  message: z.string(),
  file: z.string(),
  line: z.int(),
  column: z.int(),
  frame: z.string(),
});

export const Workflow = z.object({
  name: z.string(),
  trigger: z.string().describe('The start route'),
  hasSchema: z.boolean(),
  mode: z.enum(['task', 'chat']),
  serial: z.boolean().describe('Whether one run at a time is accepted'),
  schedules: z.int().describe('How many timers it declares'),
  steps: z.array(z.object({ id: z.string(), name: z.string() })),
  state: z.enum(['ready', 'failed']),
  problem: WorkflowProblem.nullable().describe('Why the workflow does not load, with file, line and code frame'),
});

/** A workflow as lists show it: its start route, its steps, and why it does not load. */
export type WorkflowSummary = z.output<typeof Workflow>;
