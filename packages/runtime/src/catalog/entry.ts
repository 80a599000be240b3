import { z } from 'zod';
import { Limits } from '../limits/limits.ts';
import { WorkflowProblem } from './workflow.ts';

export const CATALOG_KINDS = ['agent', 'workflow', 'tool', 'prompt'] as const;
export const CatalogKind = z.enum(CATALOG_KINDS);
export type CatalogKind = z.infer<typeof CatalogKind>;

const ModelChoice = z.object({
  declared: z.string().nullable().describe('What the code names'),
  override: z.string().nullable().describe('What was chosen here; takes precedence'),
  effective: z.string().nullable().describe('What the next turn asks; null: there is none'),
});

const LimitsChoice = z.object({
  declared: Limits.nullable().describe('What the code names'),
  override: Limits.nullable().describe('What was chosen here; takes precedence as a whole'),
  effective: Limits.nullable().describe('What holds; null: none'),
});

/** An agent, a workflow, a tool of an agent, or a prompt, as lists show it. Members a kind does not have are null. */
export const CatalogEntry = z.object({
  kind: CatalogKind,
  name: z.string().describe('Of a tool `<agent>:<tool>`, of a prompt `<owner kind>:<owner name>:<key>`'),
  description: z.string().nullable(),
  health: z
    .enum(['ok', 'stale', 'failed'])
    .describe('stale: the code does not load, and the last version that did is served'),
  isSystem: z.boolean().describe('Part of the box, not of the workspace'),
  isHidden: z.boolean().describe('Left out of model lists and discovery; it answers callers who know its name'),
  model: ModelChoice.nullable(),
  limits: LimitsChoice.nullable().describe('Of an agent: what it may use, whoever calls it'),
  mode: z.enum(['task', 'chat']).nullable(),
  hasSchema: z.boolean().nullable(),
  tools: z.array(z.string()).nullable().describe('What the model may call; those of MCP servers are not among them'),
  interruptOn: z.array(z.string()).nullable().describe('Tools that wait for a person'),
  problem: WorkflowProblem.nullable().describe('Why the code does not load'),
});
export type CatalogEntry = z.infer<typeof CatalogEntry>;

const Schema = z.record(z.string(), z.unknown()).nullable();

export const CatalogDetail = CatalogEntry.extend({
  file: z.string().nullable().describe('Where it is in the workspace'),
  inputSchema: Schema,
  outputSchema: Schema,
  stateSchema: Schema.describe('Of what its runs publish'),
  steps: z.array(z.object({ id: z.string(), name: z.string() })).nullable(),
  trigger: z.string().nullable().describe('The start route'),
});
export type CatalogDetail = z.infer<typeof CatalogDetail>;
