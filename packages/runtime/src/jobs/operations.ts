import { z } from 'zod';
import { BoxError } from '../errors.ts';
import { operation } from '../operations/define.ts';
import { Job } from './jobs.ts';

const id = z.string().describe('The job id, `<workflow>:<index>`');
const room = { tag: 'jobs', copilot: 'yes' } as const;

export const listJobs = operation({
  ...room,
  id: 'jobs.list',
  summary: 'List every armed timer with its next fire time and last outcome',
  route: 'GET /api/recurring-jobs',
  kind: 'read',
  permission: 'catalog:read',
  cli: 'jobs list',
  input: z.strictObject({}),
  output: z.object({ items: z.array(Job), nextCursor: z.null() }),
  handle: async ({ jobs }) => ({ items: await jobs.list(), nextCursor: null }),
});

export const getJob = operation({
  ...room,
  id: 'jobs.get',
  summary: 'Get one timer',
  route: 'GET /api/recurring-jobs/:id',
  kind: 'read',
  permission: 'catalog:read',
  input: z.strictObject({ id }),
  output: Job,
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
  cli: 'jobs pause',
  input: z.strictObject({ id, isPaused: z.boolean() }),
  output: Job,
  handle: ({ jobs }, input) => jobs.setPaused(input.id, input.isPaused),
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
  input: z.strictObject({ id }),
  output: Job,
  handle: ({ jobs }, input) => jobs.run(input.id),
});
