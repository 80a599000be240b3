import type { Log } from '../../log.ts';
import type { StoreClock } from '../clock.ts';
import type { Journal } from '../journal.ts';
import type { Look } from '../journal/leases.ts';
import { real } from '../real.ts';
import type { Claims } from './claims.ts';
import { createDeaths } from './deaths.ts';
import type { Endings } from './endings.ts';
import type { LiveRuns } from './live-runs.ts';
import { createOrphans } from './orphans.ts';
import type { Replicas } from './replicas.ts';

/** The look at the journal that finds whatever no signal has brought, about once a second. */
export interface Sweep {
  /** Looks which other processes are silent, and does no more: by the time this one takes runs, they have been for a while. */
  peek(): Promise<void>;
  /** Sweeps at once, after the sweep that is under way, and from then on until it is stopped. */
  now(): Promise<void>;
  /** Begins no further sweep; resolves once the one under way is over. */
  stop(): Promise<void>;
}

export interface SweepOptions {
  journal: Journal;
  log: Log;
  owner: string;
  sweepMs: number;
  /** Leases of earlier processes are void. */
  exclusive: boolean;
  clock: StoreClock;
  closing: AbortSignal;
  live: LiveRuns;
  claims: Claims;
  endings: Pick<Endings, 'expire'>;
  replicas: Pick<Replicas, 'announceIfDue' | 'elsewhere'>;
  /** Work to be done with each sweep. */
  onSweep: ((look: Look) => Promise<void>) | undefined;
}

export function createSweep(options: SweepOptions): Sweep {
  const { journal, log, owner, sweepMs, clock, closing, live, claims, endings, replicas } = options;
  const giveBackOrphans = createOrphans({ journal, log, owner, live });
  const deaths = createDeaths();
  let isTakeoverDue = options.exclusive;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sweeping: Promise<void> | undefined;
  /** When the runs in memory are looked through next, on the monotonic clock. A sweep that comes sooner, as for a timer, does not. */
  let inspectAt = 0;

  /** What happened to the runs in memory without this process: taken over, ended, signalled. */
  const inspect = async (): Promise<void> => {
    const checked = live.list();
    const rows = await journal.listHeld(owner);
    const held = new Map(rows.map((run) => [run.runId, run]));
    await giveBackOrphans(rows);
    for (const execution of checked) {
      const { runId, epoch } = execution.run;
      const row = held.get(runId);
      if (row && row.epoch === epoch) {
        if (row.signals > execution.signals) execution.poke();
        if (row.pausedAt === null) execution.unpause();
        else execution.pause();
        execution.cancel(row);
        continue;
      }
      if (await live.abandonIfFinal(execution)) continue;
      // Unless it ended or parked by itself meanwhile.
      if (live.get(runId) === execution) execution.drop(new Error('Another process has the run.'));
    }
  };

  /** One statement says what there is to do; most of the time there is nothing. */
  const lookAround = async (): Promise<Look> => {
    let look: Look | undefined;
    const [time, from] = [clock.now(), real.performanceNow()];
    await clock.sync(async () => (look = await journal.look(owner)).now);
    // The store's clock was set, or the machine was suspended: timers in memory were set by the time before.
    const moved = clock.now() - time - (real.performanceNow() - from);
    if (Math.abs(moved) >= JUMP_MS) for (const execution of live.list()) execution.rearm();
    // A clock that is moved by hand needs no answer.
    return look ?? journal.look(owner);
  };

  /** Their runs are due at once, and for all. Answers whether there were any. */
  const expireDead = async (silent: readonly string[]): Promise<boolean> => {
    const dead = deaths.note(silent);
    const gone = dead.length === 0 ? [] : await journal.expire(dead);
    if (gone.length > 0) log.warn('Another process is gone without a word: its runs are taken up.', { owners: gone });
    return gone.length > 0;
  };

  const sweep = async (): Promise<void> => {
    let wake: number | undefined;
    /** When the next timer is due, on the monotonic clock. */
    let timerAt = Infinity;
    let isBusy = true;
    const isInspecting = real.performanceNow() >= inspectAt;
    try {
      const look = await lookAround();
      if (look.timer !== undefined) timerAt = real.performanceNow() + look.timer;
      await claims.renewIfLate();
      if (isInspecting && (look.isHolding || live.size > 0)) await inspect();
      const isDeath = await expireDead(look.silent);
      await replicas.announceIfDue();
      if (look.isOverdue) for (const run of await journal.listOverdue(OVERDUE)) await endings.expire(run);
      isBusy = isDeath || look.isDue || look.isOverdue || isTakeoverDue || claims.isBehind;
      if (isBusy) await claims.claimAll(isTakeoverDue);
      isTakeoverDue = false;
      await options.onSweep?.(look);
      wake = look.wake;
    } catch (error) {
      log.error('The journal cannot be read; the next sweep tries again.', { error });
    }
    if (closing.aborted) return;
    if (isBusy && !claims.isBehind) wake = await journal.nextWake().catch(() => undefined);
    const toTimer = Math.max(0, timerAt - real.performanceNow());
    const due = Math.min(toTimer, deaths.soon ?? Infinity, (claims.isBehind ? undefined : wake) ?? Infinity);
    // What is due may be for others: to look for it at once, again and again, would be of no use.
    const soonest = replicas.elsewhere.length > 0 ? SHARED_MS : 5;
    if (isInspecting) inspectAt = real.performanceNow() + sweepMs * (0.9 + Math.random() * 0.2);
    const toInspect = Math.ceil(inspectAt - real.performanceNow());
    timer = real.setTimeout(() => (sweeping = sweep()), Math.max(soonest, Math.min(toInspect, due)));
  };

  return {
    async peek() {
      const look = await journal.look(owner).catch(() => undefined);
      if (look) deaths.note(look.silent);
    },
    async now() {
      await sweeping;
      if (closing.aborted) return;
      real.clearTimeout(timer);
      inspectAt = 0;
      await (sweeping = sweep());
    },
    async stop() {
      real.clearTimeout(timer);
      await Promise.allSettled([sweeping]);
      // It may have asked for the next one before the close began.
      real.clearTimeout(timer);
    },
  };
}

// --- internal ---

/** Runs whose time is over that one sweep ends. */
const OVERDUE = 100;

/** A clock that was moved by less is right enough for the timers there are, in milliseconds. */
const JUMP_MS = 1_000;

/** Between two sweeps while another replica has other code, at least, in milliseconds. */
const SHARED_MS = 250;
