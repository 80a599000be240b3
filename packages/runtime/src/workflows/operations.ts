import { z } from 'zod';
import { operation } from '../operations/define.ts';

const Problem = z.object({
  code: z.string(),
  message: z.string(),
  file: z.string(),
  line: z.int(),
  column: z.int(),
  frame: z.string(),
});

const Workflow = z.object({
  name: z.string(),
  trigger: z.string().describe('The start route'),
  hasSchema: z.boolean(),
  mode: z.enum(['task']),
  steps: z.array(z.object({ id: z.string(), name: z.string() })),
  state: z.enum(['ready', 'failed']),
  problem: Problem.nullable().describe('Why the workflow does not load, with file, line and code frame'),
});

const name = z.string().describe('The workflow name');
const JsonSchema = z.record(z.string(), z.unknown()).nullable();

export const listWorkflows = operation({
  id: 'workflows.list',
  summary: 'List the workflows with start route, schema presence and steps',
  route: 'GET /api/workflows',
  tag: 'workflows',
  kind: 'read',
  permission: 'catalog:read',
  copilot: 'yes',
  cli: 'workflows list',
  input: z.strictObject({}),
  output: z.object({ items: z.array(Workflow) }),
  handle: ({ workflows }) => ({ items: workflows.list() }),
});

export const getWorkflow = operation({
  id: 'workflows.get',
  summary: 'Get one workflow with its steps and compile state',
  route: 'GET /api/workflows/:name',
  tag: 'workflows',
  kind: 'read',
  permission: 'catalog:read',
  copilot: 'yes',
  input: z.strictObject({ name }),
  output: Workflow,
  handle: ({ workflows }, input) => workflows.get(input.name),
});

export const getWorkflowSchema = operation({
  id: 'workflows.schema',
  summary: 'Get the input and output JSON Schemas of a workflow; each may be null',
  route: 'GET /api/workflows/:name/schema',
  tag: 'workflows',
  kind: 'read',
  permission: 'catalog:read',
  copilot: 'yes',
  cli: 'workflows schema',
  input: z.strictObject({ name }),
  output: z.object({ input: JsonSchema, output: JsonSchema }),
  handle: ({ workflows }, input) => workflows.schema(input.name),
});

export const startWorkflow = operation({
  id: 'workflows.start',
  summary: 'Start a run of a workflow; answers the start receipt',
  route: 'POST /api/workflows/:name/start',
  tag: 'workflows',
  kind: 'write',
  permission: 'workflows:start',
  copilot: 'yes',
  cli: 'workflows start',
  status: 202,
  body: 'input',
  input: z.strictObject({ name, input: z.unknown() }),
  output: z.object({
    workflowName: z.string(),
    status: z.enum(['started']),
    runId: z.uuid(),
    worldRunId: z.string(),
    trigger: z.string(),
  }),
  handle: ({ workflows }, input) => workflows.start(input.name, input.input, 'api'),
});
