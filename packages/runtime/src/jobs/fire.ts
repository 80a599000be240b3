import type { Caller } from '../auth/caller.ts';
import type { StoreClock } from '../engine/clock.ts';
import type { LeftSchedule, NewFiring, Schedule, ScheduleStore } from '../engine/journal/schedules.ts';
import { encodeError } from '../engine/run/outcome.ts';
import { decode } from '../engine/serialize.ts';
import type { StartedBy } from '../engine/started-by.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { nextFire } from '../definitions/cron.ts';
import { readArmedBy } from './armed-by.ts';
import { encodeWait } from './wait.ts';

export interface StartHow {
  idempotencyKey: string;
  /** Who fires it by hand. Absent: its time has come, and what it starts is the box's. */
  caller?: Caller;
  /** Who had the timer armed over MCP. */
  armedBy?: StartedBy['armedBy'];
}

/** Starts a workflow; the same key starts nothing twice. Answers the run, or the start that waits in its queue. */
export type StartJob = (
  name: string,
  input: unknown,
  how: StartHow,
) => Promise<{ runId: string } | { triggerId: string }>;

export interface FiringOptions {
  schedules: ScheduleStore;
  clock: StoreClock;
  log: Log;
  start: StartJob;
  /** Another replica that lives has other code, which may be what the timer is of. */
  lookForRollout(): Promise<boolean>;
}

export interface Fired {
  note: NewFiring;
  /** Why nothing was started. */
  error?: unknown;
  /** Another replica may have the workflow, or take the input. */
  isLeft?: boolean;
}

/** What is refused by one build may be started by another. */
const OF_OTHER_CODE: readonly string[] = ['workflow_not_found', 'workflow_compile_failed', 'workflow_input_invalid'];

const FIRE_BATCH = 250;
/** Bytes of their inputs after which a batch takes no more: it holds them until they are started. */
const FIRE_BYTES = 4_194_304;
/** Batches whose starts are under way at once: the next is taken meanwhile, and their commits are shared. */
const MOST_BATCHES = 4;
/** For so long one that was taken is left to whoever took it, who may die before it has started anything. */
const HOLD_MS = 15_000;
/** For so long a replica passes over one that it has left to the others: they look once a second. */
const PASS_MS = 15_000;
/** How many it passes over at most; what it leaves beyond those stays held. */
const MOST_PASSED = 10_000;
/** A timer that fires once and finds that its workflow cannot begin yet comes back after this time. */
const AGAIN_MS = 30_000;
/** How long a timer that has fired its one time stays to be seen, and keeps the same from being armed again. */
const SPENT_MS = 24 * 60 * 60 * 1000;
/** How long the pause of a timer that is declared no more is kept: a rollout may go back, or be slow. */
const GONE_MS = 30 * 24 * 60 * 60 * 1000;
const FORGET_EVERY_MS = 60 * 60 * 1000;

export function createFiring({ schedules, clock, log, start, lookForRollout }: FiringOptions) {
  let forgetAt = 0;
  /** Those that were left to other replicas, and until when. */
  const passed = new Map<string, number>();
  /** The last look for those that are due. */
  let last: Promise<unknown> = Promise.resolve();

  const fire = async ({ id, name, input }: Schedule, how: StartHow, look = lookForRollout): Promise<Fired> => {
    const at = clock.now();
    try {
      const started = await start(name, decode(input), how);
      const runId = 'runId' in started ? started.runId : null;
      return { note: { at, runId, triggerId: 'triggerId' in started ? started.triggerId : null } };
    } catch (error) {
      const isLeft = error instanceof BoxError && OF_OTHER_CODE.includes(error.code) && (await look());
      if (isLeft) log.info('A recurring job is left to a replica that has its workflow.', { job: id });
      else log.error('A recurring job could not start its workflow.', { job: id, error });
      return { note: { at, runId: null, error: encodeError(error) }, error, isLeft };
    }
  };

  /** Undefined: never again. */
  const nextOf = ({ cron, timeZone }: Schedule, { error }: Fired): number | null => {
    const now = clock.now();
    if (cron !== null) return nextFire(cron, timeZone, now);
    return error !== undefined && isPassing(error) ? now + AGAIN_MS : null;
  };

  /** Moves it on. What has changed its times meanwhile has left it due: it fires next by those. */
  const moveOn = async (schedule: Schedule, nextAt: number, fired: Fired): Promise<void> => {
    if (await schedules.advance(schedule.id, nextAt, nextOf(schedule, fired), fired.note, schedule)) return;
    const changed = await schedules.find(schedule.id);
    if (changed?.nextAt === nextAt)
      await schedules.advance(schedule.id, nextAt, nextOf(changed, fired), fired.note, changed);
  };

  /** Answers what is left to the other replicas. */
  const fireOne = async (schedule: Schedule, look: () => Promise<boolean>): Promise<LeftSchedule[]> => {
    const { id, cron, nextAt, createdAt } = schedule;
    if (nextAt === null) return [];
    // The start comes first and carries what fires as its key: a crash in between, or another replica that fires the
    // same time, starts nothing twice.
    const armedBy = readArmedBy(schedule);
    const how = {
      idempotencyKey: `job:${id}:${cron === null ? `once:${createdAt}` : nextAt}`,
      ...(armedBy.length === 0 ? {} : { armedBy }),
    };
    const fired = await fire(schedule, how, look);
    // Another box starts it, or this one once it is back.
    if (fired.error instanceof BoxError && fired.error.code === 'shutting_down') return [];
    if (!fired.isLeft) await moveOn(schedule, nextAt, fired);
    // It stays due, and is passed over first: given back, it could be taken here again.
    if (!fired.isLeft || passed.size >= MOST_PASSED) return [];
    passed.set(id, clock.now() + PASS_MS);
    return [{ id, expected: nextAt, error: encodeWait(schedule, fired.error as BoxError) }];
  };

  /** `isTaken`: no more are being taken that could be some of those that are given back. */
  const fireBatch = async (taken: Schedule[], isTaken: () => Promise<unknown>): Promise<void> => {
    // Looked at once a batch, and by the first that is refused: the other replica may have come since the last look.
    let looked: Promise<boolean> | undefined;
    const look = (): Promise<boolean> => (looked ??= lookForRollout());
    const fired = await Promise.allSettled(taken.map((schedule) => fireOne(schedule, look)));
    const left = fired.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    if (left.length > 0) {
      await isTaken();
      await schedules.giveBack(left);
    }
    const failed = fired.find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason as Error;
  };

  const fireAll = async (): Promise<void> => {
    const underWay = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const note = (error: unknown): void => void failures.push(error);
    let most = FIRE_BATCH;
    for (let isMore = true; isMore && failures.length === 0;) {
      if (underWay.size >= MOST_BATCHES) await Promise.race(underWay);
      const taking = schedules
        .takeDue(most, HOLD_MS, [...passed.keys()], FIRE_BYTES)
        .catch((error: unknown) => (note(error), []));
      last = taking;
      const taken = await taking;
      const firing: Promise<void> = fireBatch(taken, () => last)
        .catch(note)
        .finally(() => underWay.delete(firing));
      underWay.add(firing);
      const isLarge = bytesOf(taken) >= FIRE_BYTES;
      isMore = isLarge || taken.length === most;
      // SQLite reads a row to its end to know whether it is due: of large ones no more are looked at than are taken.
      most = isLarge ? taken.length : Math.min(most * 2, FIRE_BATCH);
    }
    await Promise.all(underWay);
    if (failures.length > 0) throw failures[0];
  };

  return {
    fire,
    /** `isDue`: the journal has some whose time has come. */
    async fireDue(isDue = true): Promise<void> {
      const now = clock.now();
      // Also where the store's clock was set back, and not only corrected.
      for (const [id, until] of passed) if (until <= now || until > now + 2 * PASS_MS) passed.delete(id);
      if (isDue) await fireAll();
      if (clock.now() < forgetAt) return;
      forgetAt = clock.now() + FORGET_EVERY_MS;
      await schedules.forgetSpent(clock.now() - SPENT_MS, clock.now() - GONE_MS);
    },
  };
}

// --- internal ---

function bytesOf(taken: readonly Schedule[]): number {
  return taken.reduce((sum, { input }) => sum + Buffer.byteLength(input), 0);
}

/** Something that may well be over the next time: the workflow does not load, a run is in its way, the store is away. */
function isPassing(error: unknown): boolean {
  return !(error instanceof BoxError) || error.status >= 500 || error.code === 'workflow_busy';
}
