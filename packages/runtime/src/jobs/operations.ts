import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { operationsOf } from '../operations/define.ts';
import { IDEMPOTENCY_HEADER, IdempotencyKey, Page, withoutUndefined } from '../operations/inputs.ts';
import { Job, JobDetail } from './job.ts';
import type { Jobs } from './jobs.ts';

const operation = operationsOf<{ jobs: Jobs }>();

const id = z
  .string()
  .describe('The job id: `<workflow>:<number or name>`, or `<workflow>@<name>` of one that code made');
const room = { tag: 'jobs', copilot: 'yes' } as const;

export const listJobs = operation({
  ...room,
  id: 'jobs.list',
  summary: 'List every armed timer with its next fire time and last outcome',
  route: 'GET /api/recurring-jobs',
  kind: 'read',
  permission: 'catalog:read',
  cli: 'jobs list',
  input: z.strictObject({ workflow: z.string().optional().describe('Workflow name'), ...Page }),
  output: z.object({ items: z.array(Job), nextCursor: z.string().nullable() }),
  handle: ({ jobs }, { workflow, limit, cursor }) =>
    jobs.list(withoutUndefined({ name: workflow }), withoutUndefined({ limit, cursor })),
});

export const getJob = operation({
  ...room,
  id: 'jobs.get',
  summary: 'Get one timer with its recent firings',
  route: 'GET /api/recurring-jobs/:id',
  kind: 'read',
  permission: 'catalog:read',
  errors: ['job_not_found'],
  input: z.strictObject({ id }),
  output: JobDetail,
  async handle({ jobs }, input) {
    const job = await jobs.find(input.id);
    if (!job) throw new BoxError('job_not_found', `There is no recurring job "${input.id}".`);
    return job;
  },
});

export const updateJob = operation({
  ...room,
  id: 'jobs.update',
  summary: 'Pause or resume a timer',
  route: 'PATCH /api/recurring-jobs/:id',
  kind: 'write',
  permission: 'jobs:write',
  cli: 'jobs pause | jobs resume',
  errors: ['job_not_found'],
  input: z.strictObject({ id, isPaused: z.boolean() }),
  output: Job,
  before: ({ jobs }, input) => jobs.find(input.id),
  settles: { isDone: async ({ jobs }, input) => (await jobs.find(input.id))?.isPaused === input.isPaused },
  handle: ({ jobs }, input, { caller }) => jobs.setPaused(input.id, input.isPaused, caller),
});

export const runJob = operation({
  ...room,
  id: 'jobs.run',
  summary: 'Fire a timer now, outside its schedule',
  route: 'POST /api/recurring-jobs/:id/run',
  kind: 'write',
  permission: 'workflows:start',
  cli: 'jobs run',
  status: 202,
  headers: IDEMPOTENCY_HEADER,
  errors: [
    'job_not_found',
    'workflow_not_found',
    'workflow_compile_failed',
    'workflow_runtime_not_armed',
    'shutting_down',
  ],
  input: z.strictObject({ id, idempotencyKey: IdempotencyKey }),
  output: Job,
  before: ({ jobs }, input) => jobs.find(input.id),
  settles: 'again',
  handle: ({ jobs }, { id: jobId, idempotencyKey }, { caller }) =>
    jobs.run(jobId, withoutUndefined({ caller, idempotencyKey })),
});

export const deleteJob = operation({
  ...room,
  id: 'jobs.delete',
  summary: 'Remove a timer that code made; a declared one can be paused',
  route: 'DELETE /api/recurring-jobs/:id',
  kind: 'write',
  permission: 'jobs:write',
  confirm: true,
  errors: ['job_not_found', 'job_declared'],
  input: z.strictObject({ id }),
  output: z.object({ id: z.string(), deleted: z.literal(true) }),
  before: ({ jobs }, input) => jobs.find(input.id),
  settles: { isDone: async ({ jobs }, input) => !(await jobs.find(input.id)) },
  async handle({ jobs }, input) {
    await jobs.delete(input.id);
    return { id: input.id, deleted: true as const };
  },
});
