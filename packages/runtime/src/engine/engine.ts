import type { Log } from '../log.ts';
import type { AroundStep, Body } from './body.ts';
import { createStoreClock } from './clock.ts';
import type { StoreClock } from './clock.ts';
import { joinDoorbells } from './doorbell.ts';
import type { Doorbell } from './doorbell.ts';
import type { Ambient } from './handle.ts';
import type { Isolate, Supervisor } from './isolation.ts';
import type { Journal } from './journal.ts';
import type { Look } from './journal/leases.ts';
import type { RunRow } from './journal/run.ts';
import { UNFOLLOWED } from './lifecycle.ts';
import type { Lifecycle } from './lifecycle.ts';
import { createLargeValues } from './large-values.ts';
import type { LargeStore, LargeValues } from './large-values.ts';
import { DEFAULT_LIMITS, DEFAULT_TIMES, LARGE_LIMITS, MOST_LIVE } from './limits.ts';
import type { Limits } from './limits.ts';
import type { Observer } from './observer.ts';
import type { RunningStep } from './run/step-attempts.ts';
import { createAssigned } from './worker/assigned.ts';
import { createBacklog } from './worker/backlog.ts';
import { createClaims } from './worker/claims.ts';
import { createControls } from './worker/controls.ts';
import type { Controls } from './worker/controls.ts';
import { createEndings } from './worker/endings.ts';
import type { Endings } from './worker/endings.ts';
import { boundJournal } from './worker/journal-timeout.ts';
import { createIsolation } from './worker/isolation.ts';
import { createLiveDriver } from './worker/live-driver.ts';
import { createLiveRuns } from './worker/live-runs.ts';
import { createLoading } from './worker/loading.ts';
import type { Loading, ResolvedRun } from './worker/loading.ts';
import { createMoves } from './worker/moves.ts';
import type { Moves } from './worker/moves.ts';
import { createReplicas } from './worker/replicas.ts';
import type { Replicas } from './worker/replicas.ts';
import { createPublisher } from './worker/publisher.ts';
import { shutDown } from './worker/shutdown.ts';
import { createSignals } from './worker/signals.ts';
import { createStarts } from './worker/starts.ts';
import type { Starts } from './worker/starts.ts';
import { createSweep } from './worker/sweep.ts';
import { createWatchers } from './worker/watchers.ts';

export type { StartRequest } from './worker/new-run.ts';
export type { KeyedStart } from './worker/starts.ts';

export interface EngineOptions {
  journal: Journal;
  log: Log;
  /** Unique per process and boot: the name a lease is held under. */
  owner: string;
  /**
   * The code of a run. Throws when it cannot be had: the run then waits and is tried again; of a `CodeNotKeptError`, once the
   * journal says that the code is there.
   */
  resolve(run: ResolvedRun): Promise<Body>;
  /**
   * The newest code of a run, to be led through its history beside the run: its body does nothing but by its calls. Default:
   * what `resolve` answers.
   */
  resolveNewest?(run: ResolvedRun): Promise<Body>;
  /** What code in a run can reach of the box. */
  ambient: Ambient;
  /** The store can be held by this process alone, so leases of earlier processes are void at boot. */
  exclusive: boolean;
  limits?: Partial<Limits>;
  /** Where values are kept that are too large for the journal. Default: they are refused. */
  largeStore?: LargeStore | undefined;
  /** Milliseconds a lease lasts without renewal. Default 30,000. */
  leaseMs?: number;
  /** Milliseconds between sweeps. Default 1,000. */
  sweepMs?: number;
  /** Runs in memory at once; more wait as `queued`. Default 1,000. */
  maxLive?: number;
  /** Notifies other replicas at once of what they would find by their next sweep. Default: they find it by the sweep. */
  doorbell?: Doorbell;
  /** Publishes what happens to runs while it is followed. Default: no events are made. */
  lifecycle?: Lifecycle;
  /** Sees what this process has written, with its values. Default: none. */
  observer?: Observer;
  /** Milliseconds between two polls of a wait for a run that another process has. Default 500. */
  pollMs?: number;
  /** Milliseconds that steps under way have to end when the engine closes. Default 0. */
  drainMs?: number;
  /** Milliseconds a call of the journal may take. Default 10,000 for a database behind a network, no limit for a file. */
  callMs?: number;
  /**
   * The hashes of the code there is here. A run whose code is not here, but in another replica that lives, is left to
   * that one. Default: this process takes whatever is due.
   */
  codes?(): readonly string[];
  /** The milliseconds a cancelled run has to clean up; 0: it ends at once. Default: every run does. */
  cleanupOf?(run: Pick<RunRow, 'kind' | 'name'>): number;
  /** Work to be done with each sweep, such as firing schedules. `look`: what the journal had to do as it began. */
  onSweep?(look: Look): Promise<void>;
  /** Default: the journal's time. One that is moved by hand belongs to the journal too, and to `tick`. */
  clock?: StoreClock;
  /** Stands around each attempt of a step, for a test that ends a process there. */
  around?: AroundStep;
  /**
   * Begins a process for runs that may have killed theirs twice. Default: there is none, so they go on in this one, and
   * none is ever convicted.
   */
  isolate?: Isolate;
  /** This process was begun for such runs by that one: it takes the runs it is given, and no others. */
  supervisor?: Supervisor;
}

export interface Engine extends Starts, Controls, Moves, Pick<Endings, 'cancel'>, Pick<LargeValues, 'whole'> {
  readonly clock: StoreClock;
  readonly armed: boolean;
  readonly replicas: Pick<Replicas, 'announce' | 'elsewhere' | 'listElsewhere'>;
  /** Begins taking runs from the journal. Until then nothing runs. */
  arm(): Promise<void>;
  /** Resolves when the run may have ended or written to its streams, or the signal aborts. */
  nextChange(runId: string, signal?: AbortSignal): Promise<void>;
  /**
   * Answers when the last run of its chain is final, or what that is once `timeoutMs` are over or the signal aborts.
   * Undefined: no such run.
   */
  wait(runId: string, timeoutMs: number, signal?: AbortSignal): Promise<RunRow | undefined>;
  /** Aborts when `close` begins: an answer that is held open ends. */
  readonly closing: AbortSignal;
  /** The clock was moved by hand: keeps the leases, and does at once what is due. */
  tick(): Promise<void>;
  /** When something is due next by the store's clock: in memory, or of a run that no process has. */
  nextDue(): Promise<number | undefined>;
  /** The attempts of steps under way in a run that this process has. Undefined: it does not have it. */
  runningSteps(runId: string): RunningStep[] | undefined;
  /** The steps under way in this process, of at most so many. */
  listBusy(most: number): BusyStep[];
  /** Runs in memory and on their way there. */
  readonly liveRuns: number;
  /**
   * Refuses starts and takes no run any more; steps under way have `drainMs` to end. Then records in flight are
   * written, and the runs given back for others to take. A journal that does not answer adds no more than 8 s.
   */
  close(): Promise<void>;
}

/** A step under way. */
export interface BusyStep {
  runId: string;
  /** The name of the run: of a turn, that of its agent. */
  workflow: string;
  step: string;
}

/**
 * One process of the engine: it starts runs, takes up those that are due, and gives them back when it closes. Each part
 * of `worker/` has one of these tasks, all stand on one register of live runs, and what a run does is in `run/`.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { log, owner, resolve, supervisor } = options;
  const { leaseMs = DEFAULT_TIMES.leaseMs, sweepMs = DEFAULT_TIMES.sweepMs, drainMs = DEFAULT_TIMES.drainMs } = options;
  // Without room it claims nothing by itself.
  const maxLive = supervisor ? 0 : (options.maxLive ?? MOST_LIVE);
  const journal = withTimeout(options);
  const clock = options.clock ?? (await createStoreClock(journal));
  const close = new AbortController();
  const closing = close.signal;

  const assigned = supervisor && createAssigned(supervisor);
  const lifecycle = assigned?.lifecycle ?? options.lifecycle ?? UNFOLLOWED;
  const { isolate } = options;
  const resume: Loading['resume'] = (run, isolateRun) => loading.resume(run, isolateRun);
  const isolation = isolate && createIsolation({ isolate, journal, log, owner, leaseMs, lifecycle, closing, resume });
  const live = createLiveRuns({ journal, isolated: isolation });
  const watchers = createWatchers({ journal, clock, pollMs: options.pollMs });
  const publisher = createPublisher({ journal, lifecycle, observer: options.observer });
  const doorbell = joinDoorbells([options.doorbell, isolation?.doorbell, assigned?.doorbell]);
  const signals = createSignals({ doorbell, journal, owner, live, watchers });
  const codes = options.exclusive || supervisor ? undefined : options.codes;
  const replicas = createReplicas({ journal, log, owner, leaseMs, codes, now: clock.now });
  // Every part is handed what all of them stand on, and the parts before it that it works with.
  const core = {
    journal,
    log,
    owner,
    leaseMs,
    clock,
    closing,
    resolve,
    isolation,
    live,
    watchers,
    publisher,
    signals,
    replicas,
  };
  const large = createLargeValues(options.largeStore);
  const endings = createEndings({ ...core, graceOf: options.cleanupOf, onLeft: assigned?.left });
  const limits = { ...(options.largeStore ? LARGE_LIMITS : DEFAULT_LIMITS), ...options.limits };
  const backlog = createBacklog({ journal, now: clock.now, most: limits.unreadResumes });
  const { ambient, around } = options;
  const isAlone = () => assigned?.isAlone === true;
  const driver = createLiveDriver({ ...core, endings, limits, large, ambient, around, isAlone });
  const loading = createLoading({ ...core, endings, driver, isolate: isolation?.add });
  const claims = createClaims({ ...core, loading, maxLive });
  signals.listen(claims);
  const starts = createStarts({ ...core, endings, loading, claims, ambient, large, limits });
  const onSweep = supervisor ? undefined : options.onSweep;
  const sweep = createSweep({
    ...core,
    claims,
    endings,
    sweepMs,
    exclusive: options.exclusive && !supervisor,
    onSweep,
  });
  if (!options.exclusive && !supervisor) void sweep.peek();
  let closed: Promise<void> | undefined;

  return {
    ...starts,
    ...createControls({ ...core, backlog }),
    ...createMoves({
      ...core,
      ambient,
      large,
      resolve: options.resolveNewest ?? ((run) => resolve({ ...run, codeHash: null })),
      codes: () => options.codes?.() ?? [],
    }),
    cancel: endings.cancel,
    whole: large.whole,
    clock,
    closing,
    get armed() {
      return claims.isArmed;
    },
    replicas,
    async arm() {
      if (claims.isArmed || closing.aborted) return;
      claims.arm();
      // Others then find out by its leases.
      if (!options.exclusive) await journal.attend(owner).catch(() => {});
      // Known before the first claim.
      await replicas.announce().catch(() => {});
      assigned?.begin({ journal, owner, leaseMs, live, loading });
      await sweep.now();
    },
    nextChange: (runId, signal) => watchers.nextChange(runId, signal),
    wait: (runId, timeoutMs, signal) =>
      watchers.wait(runId, timeoutMs, { isHere: live.get(runId) !== undefined, signal }),
    async tick() {
      // Before anything else runs: a sweep that is under way would take the leases for expired.
      await claims.renew();
      for (const execution of live.list()) execution.rearm();
      if (claims.isArmed) await sweep.now();
    },
    async nextDue() {
      const left = await journal.nextWake();
      const inMemory = live.list().flatMap(({ nextDue }) => nextDue ?? []);
      const all = left === undefined ? inMemory : [...inMemory, clock.now() + left];
      return all.length === 0 ? undefined : Math.min(...all);
    },
    runningSteps: (runId) => live.get(runId)?.runningSteps,
    listBusy(most) {
      const busy: BusyStep[] = [];
      for (const { run, runningSteps } of live.list()) {
        for (const { name } of runningSteps) busy.push({ runId: run.runId, workflow: run.name, step: name });
        if (busy.length >= most) return busy.slice(0, most);
      }
      return busy;
    },
    get liveRuns() {
      return live.count;
    },
    close: () => (closed ??= shutDown({ ...core, close, drainMs, claims, sweep })),
  };
}

// --- internal ---

const CALL_MS = 10_000;

/** A database behind a network may not answer at all. */
function withTimeout({ journal, callMs }: EngineOptions): Journal {
  const limit = callMs ?? (journal.adapter === 'postgres' ? CALL_MS : undefined);
  return limit === undefined ? journal : boundJournal(journal, limit);
}
