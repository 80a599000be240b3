import { z } from 'zod';
import type { ScheduleDeclaration } from '../catalog/workflow-settings.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal, Schedule } from '../engine/journal.ts';
import { decode, encode } from '../engine/serialize.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { toIso, toJsonValue } from '../runs/json-value.ts';
import { nextFire } from './cron.ts';

export const Job = z.object({
  id: z.string().describe('`<workflow>:<index>`'),
  workflow: z.string(),
  cron: z.string(),
  timeZone: z.string().nullable(),
  input: z.unknown(),
  isPaused: z.boolean(),
  nextFireAt: z.iso.datetime().nullable().describe('Null while paused'),
  lastFiredAt: z.iso.datetime().nullable(),
  lastRunId: z.string().nullable(),
  lastOutcome: z.string().nullable().describe('Status of the run it last started'),
});
export type Job = z.infer<typeof Job>;

export interface Jobs {
  list(): Promise<Job[]>;
  find(id: string): Promise<Job | undefined>;
  setPaused(id: string, isPaused: boolean): Promise<Job>;
  /** Fires the timer now, outside its schedule. */
  run(id: string): Promise<Job>;
  /** Makes the armed timers those the workflows declare. A workflow that does not load keeps the timers it had. */
  reconcile(declared: DeclaredSchedules[]): Promise<void>;
  /** Starts what is due. A time that was missed while no box ran is made up for once, not once for each miss. */
  fireDue(): Promise<void>;
}

export interface DeclaredSchedules {
  name: string;
  /** Undefined: the workflow does not load. */
  schedules: ScheduleDeclaration[] | undefined;
}

export interface JobsOptions {
  journal: Journal;
  engine: Pick<Engine, 'clock'>;
  log: Log;
  start(name: string, input: unknown, idempotencyKey: string): Promise<string | null>;
}

const FIRE_BATCH = 50;

export function createJobs({ journal, engine, log, start }: JobsOptions): Jobs {
  const { schedules } = journal;
  const get = async (id: string): Promise<Schedule> => {
    const schedule = (await schedules.list()).find((known) => known.id === id);
    if (!schedule) throw new BoxError('job_not_found', `There is no recurring job "${id}".`);
    return schedule;
  };
  const read = async (schedule: Schedule): Promise<Job> => {
    const last = schedule.lastRunId === null ? undefined : await journal.getRun(schedule.lastRunId);
    return toJob(schedule, last?.status ?? null);
  };
  const fire = async (schedule: Schedule, key: string): Promise<string | null> => {
    try {
      return await start(schedule.name, decode(schedule.input), key);
    } catch (error) {
      log.error('A recurring job could not start its workflow.', { job: schedule.id, error });
      return null;
    }
  };
  return {
    list: async () => Promise.all((await schedules.list()).map(read)),
    async find(id) {
      const schedule = (await schedules.list()).find((known) => known.id === id);
      return schedule && read(schedule);
    },
    async setPaused(id, isPaused) {
      const { cron, timeZone } = await get(id);
      await schedules.setPaused(id, isPaused, nextFire(cron, timeZone, engine.clock.now()));
      return read(await get(id));
    },
    async run(id) {
      const schedule = await get(id);
      const at = engine.clock.now();
      const runId = await fire(schedule, `job:${id}:by-hand:${at}`);
      await schedules.advance(id, schedule.nextAt, schedule.nextAt, { at, runId });
      return read(await get(id));
    },
    async reconcile(declared) {
      const now = engine.clock.now();
      const broken = new Set(declared.flatMap(({ name, schedules: list }) => (list ? [] : name)));
      const kept = broken.size > 0 ? (await schedules.list()).filter(({ name }) => broken.has(name)) : [];
      const wanted = declared.flatMap(({ name, schedules: list = [] }) =>
        list.map(({ cron, timeZone = null, input = {} }, index) => ({
          id: `${name}:${index}`,
          name,
          cron,
          timeZone,
          input: encode(input, 'input'),
          nextAt: nextFire(cron, timeZone, now),
        })),
      );
      await schedules.reconcile([...wanted, ...kept]);
    },
    async fireDue() {
      for (const schedule of await schedules.due(FIRE_BATCH)) {
        const now = engine.clock.now();
        // The start comes first and carries the fire time as its key: a crash in between, or another replica that
        // fires the same time, starts nothing twice.
        const runId = await fire(schedule, `job:${schedule.id}:${schedule.nextAt}`);
        const nextAt = nextFire(schedule.cron, schedule.timeZone, now);
        await schedules.advance(schedule.id, schedule.nextAt, nextAt, { at: now, runId });
      }
    },
  };
}

// --- internal ---

function toJob(schedule: Schedule, lastOutcome: string | null): Job {
  return {
    id: schedule.id,
    workflow: schedule.name,
    cron: schedule.cron,
    timeZone: schedule.timeZone,
    input: toJsonValue(decode(schedule.input)),
    isPaused: schedule.isPaused,
    nextFireAt: schedule.isPaused ? null : toIso(schedule.nextAt),
    lastFiredAt: schedule.lastAt === null ? null : toIso(schedule.lastAt),
    lastRunId: schedule.lastRunId,
    lastOutcome,
  };
}
