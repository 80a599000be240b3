import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../engine/journal.ts';
import type { Log } from '../log.ts';
import { defineRoom } from '../operations/room.ts';
import type { StartJob } from './fire.ts';
import { createJobs } from './jobs.ts';
import type { JobsOptions } from './jobs.ts';
import { deleteJob, getJob, listJobs, runJob, updateJob } from './operations.ts';

type StartOfSchedule = [name: string, input: unknown, how: Parameters<StartJob>[2] & { trigger: 'schedule' }];

export interface Given {
  journal: Journal;
  engine: Engine;
  log: Log;
  workflows: Pick<JobsOptions, 'check'> & { start(...of: StartOfSchedule): ReturnType<StartJob> };
}

export const jobsRoom = defineRoom({
  name: 'jobs',
  operations: [listJobs, getJob, updateJob, runJob, deleteJob],
  create: ({ journal, engine, log, workflows }: Given) =>
    createJobs({
      journal,
      engine,
      log,
      start: async (name, input, how) => workflows.start(name, input, { trigger: 'schedule', ...how }),
      check: workflows.check,
    }),
});
