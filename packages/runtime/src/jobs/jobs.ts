import { toStartedBy } from '../auth/caller.ts';
import type { Caller } from '../auth/caller.ts';
import type { ScheduleDeclaration } from '../definitions/workflow-settings.ts';
import type { Engine } from '../engine/engine.ts';
import type { ScheduleRequest, ScheduledWorkflow } from '../engine/handle.ts';
import type { Journal } from '../engine/journal.ts';
import type { DeclaredSchedule, Schedule } from '../engine/journal/schedules.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { parseIdCursor, toIdCursor } from '../operations/cursor.ts';
import { nextFire } from '../definitions/cron.ts';
import { readArmedBy, toArmedBy } from './armed-by.ts';
import { isUnchanged, toDeclared } from './declared.ts';
import { createFiring } from './fire.ts';
import type { StartJob } from './fire.ts';
import { toJob, toJobDetail } from './job.ts';
import type { Job, JobDetail } from './job.ts';
import { toMadeSchedule } from './make.ts';

export interface JobPage {
  items: Job[];
  nextCursor: string | null;
}

/** Methods that take an id throw `job_not_found`, but for `find`. */
export interface Jobs {
  list(filter: { name?: string }, page: { limit: number; cursor?: string }): Promise<JobPage>;
  find(id: string): Promise<JobDetail | undefined>;
  /** Going on after a pause makes up for nothing; what was to fire once still fires. */
  setPaused(id: string, isPaused: boolean, caller?: Caller): Promise<Job>;
  /** Fires the timer now, outside its schedule. The same key of a caller fires it once. */
  run(id: string, how?: { caller?: Caller; idempotencyKey?: string }): Promise<Job>;
  /** Throws `job_declared`: a declared timer would come back. */
  delete(id: string): Promise<void>;
  /** Arms a timer for code that runs. The same again changes nothing; throws what a start with the input would. */
  schedule(request: ScheduleRequest): Promise<ScheduledWorkflow>;
  /** False: code made no such timer, or it is gone. */
  unschedule(id: string): Promise<boolean>;
  /**
   * Makes the declared timers those the workflows declare. A workflow that does not load keeps the timers it had, and while
   * another replica has other code none is removed: which of the two is newer is not known here. `again`: this process has done
   * it before. What the same code has declared since stays: a replica with other variables has other timers.
   */
  reconcile(declared: DeclaredSchedules[], how?: { again?: boolean }): Promise<void>;
  /** Starts what is due. A time that was missed while no box ran is made up for once, not once for each miss. */
  fireDue(isDue?: boolean): Promise<void>;
}

export interface DeclaredSchedules {
  name: string;
  /** Undefined: the workflow does not load. */
  schedules: ScheduleDeclaration[] | undefined;
  /** The code that declares them. Undefined: the workflow does not load. */
  codeHash: string | undefined;
}

export interface JobsOptions {
  journal: Journal;
  engine: Pick<Engine, 'clock' | 'replicas'>;
  log: Log;
  start: StartJob;
  /** Throws what a start of the workflow with the input would. */
  check(name: string, input: unknown): Promise<unknown>;
}

export function createJobs({ journal, engine, log, start, check }: JobsOptions): Jobs {
  const { schedules } = journal;
  const { clock } = engine;
  const lookForRollout = async () => (await engine.replicas.listElsewhere()).length > 0;
  const { fire, fireDue } = createFiring({ schedules, clock, log, start, lookForRollout });
  const get = async (id: string): Promise<Schedule> => {
    const schedule = await schedules.find(id);
    if (schedule) return schedule;
    const others = (await schedules.list({ name: id }, { limit: SHOWN })).map((other) => `"${other.id}"`).join(', ');
    const near = others === '' ? '' : ` The jobs of workflow "${id}" are called by their number or name: ${others}.`;
    throw new BoxError('job_not_found', `There is no recurring job "${id}".${near}`);
  };
  return {
    async list(filter, { limit, cursor }) {
      const after = cursor === undefined ? {} : { after: parseIdCursor(cursor) };
      const found = await schedules.list(filter, { limit: limit + 1, ...after });
      const last = found.length > limit ? found[limit - 1] : undefined;
      return {
        items: found.slice(0, limit).map((schedule) => toJob(schedule, clock.now())),
        nextCursor: last ? toIdCursor(last.id) : null,
      };
    },
    async find(id) {
      const schedule = await schedules.find(id);
      return schedule && toJobDetail(schedule, await schedules.listFirings(id), clock.now());
    },
    async setPaused(id, isPaused, caller) {
      const schedule = await get(id);
      const { cron, timeZone, nextAt } = schedule;
      const now = clock.now();
      const next = cron === null ? (nextAt ?? now) : nextFire(cron, timeZone, now);
      // Resumed elsewhere it is no model's doing any more, whoever had armed it.
      const armedBy = caller?.via ? toArmedBy([toStartedBy(caller), ...readArmedBy(schedule)]) : null;
      await schedules.setPaused(id, isPaused, next, armedBy);
      return toJob(await get(id), clock.now());
    },
    async run(id, { caller, idempotencyKey: key } = {}) {
      const schedule = await get(id);
      const fired = await fire(schedule, {
        idempotencyKey: `job:${id}:by-hand:${key ?? `${clock.now()}:${crypto.randomUUID()}`}`,
        ...(caller ? { caller } : {}),
      });
      await schedules.noteFiring(id, fired.note);
      if (fired.error) throw fired.error;
      return toJob(await get(id), clock.now());
    },
    async delete(id) {
      const { origin, name } = await get(id);
      if (origin === 'declared')
        throw new BoxError('job_declared', `Workflow "${name}" declares "${id}". Remove it there, or pause it here.`);
      await schedules.remove(id);
    },
    async schedule(request) {
      await check(request.name, request.input);
      const { id, nextAt } = await schedules.make(toMadeSchedule(request, clock.now()));
      return { id, nextFireAt: nextAt === null ? null : new Date(nextAt) };
    },
    async unschedule(id) {
      const schedule = await schedules.find(id);
      return schedule?.origin === 'made' && schedules.remove(id);
    },
    async reconcile(declared, { again = false } = {}) {
      const now = clock.now();
      const broken = new Set(declared.flatMap(({ name, schedules: list }) => (list ? [] : name)));
      for (let tries = 0; tries < RECONCILE_TRIES; tries++) {
        const known = await schedules.listDeclared();
        const wanted = declared.flatMap(({ name, schedules: list = [], codeHash }) => {
          const own = known.filter((timer) => timer.name === name);
          const there = own.filter(({ isGone }) => !isGone);
          if (again && there.length > 0 && there.every((timer) => timer.codeHash === codeHash)) return there;
          return toDeclared({ name, schedules: list, codeHash }, own, now);
        });
        const ids = new Set(wanted.map(({ id }) => id));
        const byId = new Map(known.map((timer) => [timer.id, timer]));
        const others = known.filter(({ id, isGone }) => !isGone && !ids.has(id));
        const isShared = others.length > 0 && (await lookForRollout());
        const kept = others.filter(({ name }) => isShared || broken.has(name));
        const isThere = (timer: DeclaredSchedule): boolean => {
          const own = byId.get(timer.id);
          return own !== undefined && isUnchanged(own, timer);
        };
        if (kept.length === others.length && wanted.every(isThere)) return;
        // Another replica may have given a number away meanwhile.
        if (await schedules.reconcile([...wanted, ...kept])) return;
      }
    },
    fireDue,
  };
}

// --- internal ---

/** Replicas that boot together with other lists each, which is rare, disturb each other once or twice. */
const RECONCILE_TRIES = 5;

/** How many others the message about a job that is not there names. */
const SHOWN = 5;
