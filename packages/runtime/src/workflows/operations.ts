import { z } from 'zod';
import { requireGrant } from '../auth/caller.ts';
import { hiddenFrom } from '../auth/visibility.ts';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey, isGone, ShortListPage, withoutUndefined } from '../operations/inputs.ts';
import { Workflow, WorkflowSchemas } from '../catalog/workflow.ts';
import { RunStatus } from '../runs/run.ts';
import { StartReceipt } from '../runs/start-receipt.ts';
import { Changes } from './changes.ts';
import { LooseStart, ManyStarted, MOST_STARTS } from './start-many.ts';
import { START_HEADERS, START_MEMBERS, triggerOf } from './start-options.ts';
import type { Workflows } from './workflows.ts';

const operation = operationsOf<{ workflows: Workflows }>();

const name = z.string().describe('The workflow name');

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
  summary:
    'Get the input and output JSON Schemas of a workflow, each of which may be null, and that of what its runs publish',
  route: 'GET /api/workflows/:name/schema',
  tag: 'workflows',
  kind: 'read',
  permission: 'catalog:read',
  copilot: 'yes',
  cli: 'workflows schema',
  errors: ['workflow_not_found', 'workflow_runtime_not_armed'],
  input: z.strictObject({ name }),
  output: WorkflowSchemas,
  keys: true,
  handle({ workflows }, input, { caller }) {
    requireGrant(caller, 'workflows', input.name);
    return workflows.schema(input.name);
  },
});

export const startWorkflow = operation({
  id: 'workflows.start',
  summary: 'Start a run of a workflow, or queue it for a place or a time; answers the start receipt',
  route: 'POST /api/workflows/:name/start',
  tag: 'workflows',
  kind: 'write',
  permission: 'workflows:start',
  activity: false,
  copilot: 'yes',
  cli: 'workflows start',
  status: 202,
  body: 'input',
  headers: { ...IDEMPOTENCY_HEADER, ...START_HEADERS },
  errors: [
    'workflow_not_found',
    'workflow_input_invalid',
    'workflow_busy',
    'workflow_id_taken',
    'workflow_rate_limited',
    'workflow_guardrail_blocked',
    'workflow_compile_failed',
    'workflow_runtime_not_armed',
    'shutting_down',
  ],
  input: z.strictObject({
    name,
    input: z.unknown(),
    idempotencyKey: IdempotencyKey,
    ...START_MEMBERS,
  }),
  output: StartReceipt,
  keys: true,
  settles: 'again',
  handle({ workflows }, { name: workflow, input, priority, ...given }, { caller }) {
    requireGrant(caller, 'workflows', workflow);
    const level = priority === undefined ? undefined : Number(priority);
    const how = { trigger: triggerOf(caller), caller, priority: level, ...given };
    return workflows.start(workflow, input, withoutUndefined(how));
  },
});

export const startManyWorkflows = operation({
  id: 'workflows.start_many',
  summary: 'Start up to 500 runs of a workflow; each start is answered by itself, one that is refused refuses no other',
  route: 'POST /api/workflows/:name/start-many',
  tag: 'workflows',
  kind: 'write',
  permission: 'workflows:start',
  activity: false,
  copilot: 'yes',
  status: 202,
  headers: IDEMPOTENCY_HEADER,
  errors: ['workflow_not_found', 'workflow_compile_failed', 'workflow_runtime_not_armed'],
  input: z.strictObject({
    name,
    items: z.array(LooseStart).min(1).max(MOST_STARTS).describe('The starts, in the order in which they are made'),
    idempotencyKey: IdempotencyKey.describe(
      'Sent again with the same key and list, what was started is answered and not started again, for 24 hours',
    ),
  }),
  output: ManyStarted,
  keys: true,
  settles: 'again',
  handle({ workflows }, { name: workflow, items, idempotencyKey }, { caller }) {
    requireGrant(caller, 'workflows', workflow);
    return workflows.startMany({ name: workflow, items, caller, idempotencyKey });
  },
});

export const listWorkflowChanges = operation({
  id: 'workflows.changes',
  summary: 'List the versions of its changes that unfinished runs of a workflow have, and which none needs any more',
  route: 'GET /api/workflows/:name/changes',
  tag: 'workflows',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  cli: 'workflows changes',
  errors: ['workflow_not_found', 'workflow_runtime_not_armed'],
  input: z.strictObject({ name }),
  output: Changes,
  handle: ({ workflows }, input) => workflows.changes(input.name),
});

export const listQueue = operation({
  id: 'workflows.queue',
  summary: 'List the starts of a workflow that wait for a place or a time, in the order they will begin',
  route: 'GET /api/workflows/:name/queue',
  tag: 'workflows',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  cli: 'workflows queue',
  errors: ['workflow_not_found', 'workflow_runtime_not_armed', 'invalid_cursor'],
  input: z.strictObject({ name, ...ShortListPage }),
  output: z.object({
    items: z.array(
      z.object({
        triggerId: z.uuid(),
        position: z.int(),
        input: z.unknown(),
        trigger: z.string(),
        priority: z.int().describe('Among those that wait for one place, higher ones begin first'),
        waitsFor: z
          .enum(['lock', 'delay', 'throttle', 'debounce'])
          .describe('`lock`: for a place of its workflow; else for `readyAt`'),
        readyAt: z.iso.datetime().nullable().describe('The time it waits for'),
        createdAt: z.iso.datetime(),
      }),
    ),
    nextCursor: z.string().nullable(),
  }),
  handle: ({ workflows }, { name: workflow, limit, cursor }) =>
    workflows.queue(workflow, withoutUndefined({ limit, cursor })),
});

export const getQueued = operation({
  id: 'workflows.queued',
  summary: 'Get the outcome of a queued start: it still waits, or it is a run',
  route: 'GET /api/workflows/:name/queue/:triggerId',
  tag: 'workflows',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  errors: ['workflow_not_found', 'workflow_runtime_not_armed', 'trigger_not_found'],
  input: z.strictObject({ name, triggerId: z.string().describe('What its start was answered with') }),
  output: z.object({
    triggerId: z.uuid(),
    workflowName: z.string(),
    runId: z.uuid().nullable().describe('Null: it waits and is no run yet'),
    status: RunStatus,
  }),
  keys: true,
  handle({ workflows }, input, { caller }) {
    requireGrant(caller, 'workflows', input.name);
    return workflows.findQueued(input.name, input.triggerId, caller);
  },
});

export const findNamed = operation({
  id: 'workflows.find',
  summary: 'Get the run, or the start that waits, that was started with this id',
  route: 'GET /api/workflows/:name/ids/:id',
  tag: 'workflows',
  kind: 'read',
  permission: 'runs:read',
  copilot: 'yes',
  cli: 'workflows find',
  errors: ['workflow_not_found', 'workflow_runtime_not_armed', 'run_not_found'],
  input: z.strictObject({ name, id: z.string().describe('The id it was started with') }),
  output: z.object({
    id: z.string(),
    runId: z.uuid().nullable().describe('Null: it waits and is no run yet'),
    triggerId: z.uuid().nullable().describe('Of a start that waits, or has waited'),
    status: RunStatus,
  }),
  handle: ({ workflows }, input, { caller }) => workflows.findById(input.name, input.id, hiddenFrom(caller)),
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
  cli: 'workflows dequeue',
  errors: ['workflow_not_found', 'workflow_runtime_not_armed', 'trigger_not_found'],
  input: z.strictObject({ name, triggerId: z.string() }),
  output: z.object({ triggerId: z.string(), deleted: z.literal(true) }),
  keys: true,
  settles: {
    isDone: ({ workflows }, input, caller) =>
      isGone('trigger_not_found', () => workflows.findQueued(input.name, input.triggerId, caller)),
  },
  async handle({ workflows }, input, { caller }) {
    requireGrant(caller, 'workflows', input.name);
    // A start of someone else is none to this caller.
    await workflows.findQueued(input.name, input.triggerId, caller);
    await workflows.dequeue(input.name, input.triggerId);
    return { triggerId: input.triggerId, deleted: true as const };
  },
});
