import { z } from 'zod';
import { requireGrant } from '../auth/caller.ts';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey, withoutUndefined } from '../operations/inputs.ts';
import { Workflow } from '../catalog/workflow.ts';
import { StartReceipt } from '../runs/start-receipt.ts';
import type { Workflows } from './workflows.ts';

const operation = operationsOf<{ workflows: Workflows }>();

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
  errors: ['workflow_not_found', 'workflow_runtime_not_armed'],
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
  errors: ['workflow_not_found', 'workflow_runtime_not_armed'],
  input: z.strictObject({ name }),
  output: z.object({ input: JsonSchema, output: JsonSchema }),
  keys: true,
  handle({ workflows }, input, { caller }) {
    requireGrant(caller, 'workflows', input.name);
    return workflows.schema(input.name);
  },
});

export const startWorkflow = operation({
  id: 'workflows.start',
  summary: 'Start a run of a workflow, or queue it while a serial one runs; answers the start receipt',
  route: 'POST /api/workflows/:name/start',
  tag: 'workflows',
  kind: 'write',
  permission: 'workflows:start',
  activity: false,
  copilot: 'yes',
  cli: 'workflows start',
  status: 202,
  body: 'input',
  headers: IDEMPOTENCY_HEADER,
  errors: [
    'workflow_not_found',
    'workflow_input_invalid',
    'workflow_busy',
    'workflow_guardrail_blocked',
    'workflow_compile_failed',
    'workflow_runtime_not_armed',
    'shutting_down',
  ],
  input: z.strictObject({
    name,
    input: z.unknown(),
    idempotencyKey: IdempotencyKey,
  }),
  output: StartReceipt,
  keys: true,
  handle({ workflows }, { name: workflow, input, idempotencyKey }, { caller }) {
    requireGrant(caller, 'workflows', workflow);
    const how = { trigger: 'api' as const, callerId: caller.id, idempotencyKey };
    return workflows.start(workflow, input, withoutUndefined(how));
  },
});

export const listQueue = operation({
  id: 'workflows.queue',
  summary: 'List the queued starts of a serial workflow, in the order they will begin',
  route: 'GET /api/workflows/:name/queue',
  tag: 'workflows',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  errors: ['workflow_not_found', 'workflow_runtime_not_armed'],
  input: z.strictObject({ name }),
  output: z.object({
    items: z.array(
      z.object({
        triggerId: z.uuid(),
        position: z.int(),
        input: z.unknown(),
        trigger: z.string(),
        createdAt: z.iso.datetime(),
      }),
    ),
    nextCursor: z.null(),
  }),
  handle: async ({ workflows }, input) => ({ items: await workflows.queue(input.name), nextCursor: null }),
});

export const dropQueued = operation({
  id: 'workflows.dequeue',
  summary: 'Drop one queued start',
  route: 'DELETE /api/workflows/:name/queue/:triggerId',
  tag: 'workflows',
  kind: 'write',
  permission: 'runs:cancel',
  confirm: true,
  copilot: 'yes',
  errors: ['workflow_not_found', 'workflow_runtime_not_armed', 'trigger_not_found'],
  input: z.strictObject({ name, triggerId: z.string() }),
  output: z.object({ triggerId: z.string(), deleted: z.literal(true) }),
  async handle({ workflows }, input) {
    await workflows.dequeue(input.name, input.triggerId);
    return { triggerId: input.triggerId, deleted: true as const };
  },
});
