import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { atMost } from './at-most.ts';
import { boundJournal } from './worker/journal-timeout.ts';
import type { Ambient } from './handle.ts';
import { createStoreClock } from './clock.ts';
import type { StoreClock } from './clock.ts';
import type { Doorbell } from './doorbell.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { Execution } from './run/execution.ts';
import type { AroundStep, Body } from './body.ts';
import type { Limits } from './limits.ts';
import type { ExecutionStore, Leave, Left, RunningStep } from './run/execution.ts';
import { ASKED_BY, askedByOf } from './attributes.ts';
import { newRunId, toTraceId } from './ids.ts';
import { UNHEARD } from './lifecycle.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Observer } from './observer.ts';
import type { Journal } from './journal.ts';
import type { Append } from './journal/appends.ts';
import type { CancelResult } from './journal/ends.ts';
import type { ResumeOptions, ResumeResult } from './journal/hooks.ts';
import type { JournalRecord } from './journal/record.ts';
import type { RunKind, RunRow, RunTrigger } from './journal/run.ts';
import type { CreateResult, NewRun } from './journal/starts.ts';
import { encodeError, endOf, runPoisoned } from './run/outcome.ts';
import { persist } from './persist.ts';
import { real } from './real.ts';
import { keptRecords } from './run/retried-run.ts';
import { encode } from './serialize.ts';
import { createReplicas, leaveIfFinal } from './worker/replicas.ts';
import { createStrays } from './worker/orphans.ts';
import { createSuspects, isSuspect, POISON_LIMIT } from './worker/suspects.ts';
import { createTurns } from './run/turns.ts';
import { createTeller } from './worker/publisher.ts';
import { createAppender, createWatchers } from './worker/watchers.ts';

export interface EngineOptions {
  journal: Journal;
  log: Log;
  /** Unique per process and boot: the name a lease is held under. */
  owner: string;
  /** The code of a run; throws when it cannot be had (the run then waits and is tried again). */
  resolve(run: ResolvedRun): Promise<Body>;
  /** What code in a run can reach of the box. */
  ambient: Ambient;
  /** The store can be held by this process alone, so leases of earlier processes are void at boot. */
  exclusive: boolean;
  limits?: Partial<Limits>;
  /** Milliseconds a lease lasts without renewal. Default 30,000. */
  leaseMs?: number;
  /** Milliseconds between sweeps. Default 1,000. */
  sweepMs?: number;
  /** Runs in memory at once; more wait as `queued`. Default 1,000. */
  maxLive?: number;
  /** Tells other replicas at once what they would find by their next sweep. Default: nobody is told. */
  doorbell?: Doorbell;
  /** Told what happens to runs while it is heard. Default: nobody is told. */
  lifecycle?: Lifecycle;
  /** Told, with its values, what this process has written. Default: nobody. */
  observer?: Observer;
  /** Milliseconds between two looks of somebody who waits for a run that another process has. Default 500. */
  pollMs?: number;
  /** Milliseconds that steps under way have to end when the engine closes. Default 0. */
  drainMs?: number;
  /** Milliseconds a call of the journal may take. Default 10,000 for a database behind a network, no limit for a file. */
  callMs?: number;
  /** Work to be done with each sweep, such as firing schedules. */
  onSweep?(): Promise<void>;
  /** Default: the journal's time. One that is moved by hand belongs to the journal too, and to `tick`. */
  clock?: StoreClock;
  /** Stands around each attempt of a step, for a test that ends a process there. */
  around?: AroundStep;
}

/** What is known of a run whose code is looked for; of one that is yet to be, its kind and name. */
export type ResolvedRun = Pick<RunRow, 'kind' | 'name'> & Partial<RunRow>;

export interface StartRequest {
  /** Default: a new one. */
  runId?: string;
  kind: RunKind;
  name: string;
  trigger: RunTrigger;
  input: unknown;
  sessionId?: string;
  parentRunId?: string;
  /** Marks of the box on the run, beside those its code sets. Their names begin with `svc.`. */
  attributes?: Record<string, string>;
  /** The same key with the same input answers the first start again for 24 hours. */
  idempotencyKey?: string;
  /** What the key stands for, where that is not the input. */
  digest?: string;
  /** At most one unfinished run has this lock. Taken: the start queues, or is refused. */
  serial?: { key: string; whenTaken: 'queue' | 'refuse' };
  /** Code to run instead of what `resolve` answers: an agent's turn that streams to a client in this process. */
  body?: Body;
}

/** A start that may have been made before. */
export interface KeyedStart {
  name: string;
  idempotencyKey: string;
  digest: string;
}

export type Repeat = Extract<CreateResult, { outcome: 'repeated' | 'idempotency_conflict' }>;

export type RetryOptions = Pick<StartRequest, 'serial' | 'idempotencyKey'>;

export interface Engine {
  readonly clock: StoreClock;
  readonly armed: boolean;
  /** Begins taking runs from the journal. Until then nothing runs. */
  arm(): Promise<void>;
  /** Answers once the run, or the queued start, is in the journal. */
  start(request: StartRequest): Promise<CreateResult>;
  /** What a start with this key would be answered without starting anything. Undefined: it would be the first. */
  findRepeat(start: KeyedStart): Promise<Repeat | undefined>;
  /** A new run that keeps what a final one has recorded, up to the step that failed; or nothing of it. */
  retry(run: RunRow, from: 'failed-step' | 'start', options?: RetryOptions): Promise<CreateResult>;
  /** Drops a queued start; whoever waits for it is told. False: there is none (any more). */
  dequeue(triggerId: string): Promise<boolean>;
  /** Continues a blocked run on the code there is now. False: it is not blocked. */
  unblock(runId: string): Promise<boolean>;
  /** Ends a run and the runs below it. Undefined: no such run. */
  cancel(runId: string, reason: Error): Promise<CancelResult | undefined>;
  resumeHook(token: string, payload: unknown, options?: ResumeOptions): Promise<ResumeResult | undefined>;
  /** Resolves when the run may have ended or written to its streams, or the signal aborts. */
  nextChange(runId: string, signal?: AbortSignal): Promise<void>;
  /** Answers when the run is final, or what it is once `timeoutMs` are over or the signal aborts. Undefined: no such run. */
  wait(runId: string, timeoutMs: number, signal?: AbortSignal): Promise<RunRow | undefined>;
  /** Aborts when `close` begins: who holds an answer open lets go of it. */
  readonly closing: AbortSignal;
  /** The clock was moved by hand: keeps the leases, and does at once what is due. */
  tick(): Promise<void>;
  /** When something is due next by the store's clock: in memory, or of a run that nobody has. */
  nextDue(): Promise<number | undefined>;
  /** The attempts of steps under way in a run that this process has. Undefined: it does not have it. */
  runningSteps(runId: string): RunningStep[] | undefined;
  /** Runs in memory and on their way there. */
  readonly liveRuns: number;
  /**
   * Refuses starts and takes no run any more; steps under way have `drainMs` to end. Then records in flight are
   * written, and the runs given back for others to take. A journal that does not answer adds no more than 8 s.
   */
  close(): Promise<void>;
}

/** How long a run whose code cannot be loaded waits before the next try. */
const UNAVAILABLE_RETRY_MS = 5_000;
const CLAIM_BATCH = 100;
const CALL_MS = 10_000;
/** How long a journal that does not answer holds up the end of the process, twice at most. */
const STORE_MS = 4_000;

export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { log, owner } = options;
  const callMs = options.callMs ?? (options.journal.adapter === 'postgres' ? CALL_MS : undefined);
  const journal = callMs === undefined ? options.journal : boundJournal(options.journal, callMs);
  const leaseMs = options.leaseMs ?? 30_000;
  const sweepMs = options.sweepMs ?? 1_000;
  const maxLive = options.maxLive ?? 1_000;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const clock = options.clock ?? (await createStoreClock(journal));
  const live = new Map<string, Execution>();
  const turns = createTurns();
  const suspects = createSuspects();
  const watchers = createWatchers(journal, options.pollMs);
  const closing = new AbortController();
  /** Runs on their way into memory: a close waits for them, so that it gives them back too. */
  const entering = new Set<Promise<unknown>>();
  let armed = false;
  /** Leases of earlier processes are void. */
  let isTakeoverDue = options.exclusive;
  let closed = false;
  let stopping: Promise<void> | undefined;
  let sweepTimer: ReturnType<typeof setTimeout> | undefined;
  let sweeping: Promise<void> | undefined;
  let renewTimer: ReturnType<typeof setInterval> | undefined;

  const teller = createTeller({
    lifecycle: options.lifecycle ?? UNHEARD,
    observer: options.observer,
    journal,
    live,
  });
  const append = teller.appending(createAppender(journal, leaseMs));
  const store: ExecutionStore = {
    append(entry, done, failed) {
      if (suspects.isIdle || (entry.records.length === 0 && entry.patch.status !== 'waiting'))
        return append(entry, done, failed);
      const pass = () => suspects.pass(entry.runId);
      append(
        entry,
        (result) => (pass(), done(result)),
        (error) => (pass(), failed(error)),
      );
    },
    mark: (runId, epoch, steps) => persist(() => journal.mark(runId, epoch, JSON.stringify({ steps })), leaseMs),
    listEvents: (runId) => persist(() => journal.hooks.listEvents(runId), leaseMs),
    async resumeHook(...given) {
      const result = await persist(() => journal.hooks.resume(...given), leaseMs);
      teller.decided(result, given[2]);
      return result;
    },
    findRun: (child) => persist(() => findChild(journal, child), leaseMs),
    async writeChunks(runId, epoch, chunks) {
      // Repeated even when the first time may have been stored: a frame twice is what a repeated step gives too.
      const last = await persist(() => journal.chunks.write(runId, epoch, chunks), leaseMs);
      watchers.notify(runId);
      replicas.ring('written', runId);
      return last;
    },
  };

  /** Runs that a start or a claim is about to bring, by how many of them. */
  const arriving = new Map<string, number>();
  const arrive = async <T>(runId: string, work: () => Promise<T>): Promise<T> => {
    arriving.set(runId, (arriving.get(runId) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const left = (arriving.get(runId) ?? 1) - 1;
      if (left > 0) arriving.set(runId, left);
      else arriving.delete(runId);
    }
  };
  const isHere = (runId: string): boolean => live.has(runId) || suspects.has(runId) || arriving.has(runId);
  const giveBackStrays = createStrays({ journal, append: (entry) => journal.append(entry), log, owner, isHere });

  const leave = (run: RunRow, how: Leave, { row, promoted }: Left): void => {
    if (live.get(run.runId)?.run.epoch === run.epoch) live.delete(run.runId);
    suspects.pass(run.runId);
    if (how === 'dropped') log.warn('The run left this process.', { runId: run.runId, name: run.name });
    if (row) teller.ended(row);
    if (how === 'ended') settled(run.runId, run.parentRunId, row);
    else watchers.notify(run.runId);
    if (promoted) replicas.signal(promoted.runId);
  };

  /** A run is final: whoever waits for it looks again, or is handed the row. */
  const settled = (runId: string, parentRunId: string | null, row?: RunRow): void => {
    watchers.notify(runId, row);
    replicas.ring('ended', runId);
    if (parentRunId !== null) replicas.signal(parentRunId);
  };

  const launch = (run: RunRow, body: Body, records: JournalRecord[]): void => {
    const other = live.get(run.runId);
    if (other && other.run.epoch >= run.epoch) return;
    other?.drop(new Error('The run was taken up again.'));
    const onLeave = (how: Leave, left: Left) => leave(run, how, left);
    const { ambient, around } = options;
    const execution = new Execution({ run, body, records, clock, turns, limits, store, onLeave, ambient, around });
    live.set(run.runId, execution);
    if (run.epoch === 1) teller.started(run);
    execution.launch();
  };

  const enter = <T>(work: () => Promise<T>): Promise<T> => {
    const entry = work().finally(() => entering.delete(entry));
    entering.add(entry);
    return entry;
  };

  /** Continues a run taken from the journal; a suspect once it is its turn. */
  const resume = async (run: RunRow): Promise<void> => {
    if ((live.get(run.runId)?.run.epoch ?? 0) >= run.epoch) return;
    if (!isSuspect(run)) return arrive(run.runId, () => load(run));
    if (run.crashCount >= POISON_LIMIT) return poison(run);
    suspects.add(run, async () => {
      await arrive(run.runId, () => load(run));
      if (!live.has(run.runId)) suspects.pass(run.runId);
    });
  };

  const load = async (run: RunRow): Promise<void> => {
    try {
      // Marked before its code is loaded: that may be what kills the process.
      if (isSuspect(run) && !(await store.mark(run.runId, run.epoch, []))) return;
      const records = run.seq > 0 ? await persist(() => journal.getRecords(run.runId), leaseMs) : [];
      const body = await options.resolve(run);
      const reason = body.whenFound?.(records);
      if (reason) await cancel(run.runId, reason);
      else {
        await body.prepare?.(records);
        launch(run, body, records);
      }
    } catch (error) {
      log.warn('The run waits: its code cannot be loaded.', { runId: run.runId, name: run.name, error });
      // Not stored, it is a run we hold and do not have: the sweep gives it back.
      await journal.append(unavailable(run, error, clock.now() + UNAVAILABLE_RETRY_MS)).catch(() => {});
    }
  };

  const poison = async (run: RunRow): Promise<void> => {
    log.error('The run ends as failed: it has killed its process too often.', { runId: run.runId, name: run.name });
    const { runId, epoch, seq, serialKey } = run;
    const patch = endOf({ error: runPoisoned(run) }, limits.resultBytes);
    const next = serialKey === null ? {} : { nextRunId: newRunId() };
    const entry = { runId, epoch, seq, records: [], patch, durability: 'synced' as const, ...next };
    const result = await persist(() => journal.append(entry), leaseMs).catch(
      (error: unknown) => void log.error('The end of a run is not recorded.', { error }),
    );
    if (result?.outcome === 'appended') teller.run('run.ended', run, 'failed');
    if (result?.outcome === 'appended') teller.ended({ ...run, ...patch, endedAt: result.at });
    if (result?.outcome === 'appended') leave(run, 'ended', result.promoted ? { promoted: result.promoted } : {});
  };

  /** False: this process does not have the run. */
  const take = async (runId: string): Promise<boolean> => {
    if (live.has(runId) || suspects.has(runId)) return true;
    if (!armed || closed || live.size >= maxLive) return false;
    const claimed = async (): Promise<boolean> => {
      const run = await journal.claimRun(runId, { owner, leaseMs }).catch(() => undefined);
      if (run) await resume(run);
      return run !== undefined;
    };
    return enter(() => arrive(runId, claimed)).catch(() => false);
  };

  const claim = async (takeover: boolean): Promise<void> => {
    for (;;) {
      const room = Math.min(CLAIM_BATCH, maxLive - live.size - suspects.waiting);
      if (room <= 0 || closed) return;
      const runs = await journal.claim({ owner, leaseMs, limit: room, ...(takeover ? { takeover } : {}) });
      await Promise.all(runs.map(resume));
      if (runs.length < room) return;
    }
  };

  /** What happened to the runs in memory without this process: taken over, ended, signalled. */
  const inspect = async (): Promise<void> => {
    const checked = [...live];
    const rows = await journal.listHeld(owner);
    const held = new Map(rows.map((run) => [run.runId, run]));
    await giveBackStrays(rows);
    for (const [runId, execution] of checked) {
      const row = held.get(runId);
      if (row && row.epoch === execution.run.epoch) {
        if (row.signals > execution.signals) execution.poke();
        continue;
      }
      if (await leaveIfFinal(journal, execution)) continue;
      // Unless it ended or parked by itself meanwhile.
      if (live.get(runId) === execution) execution.drop(new Error('Another process has the run.'));
    }
  };

  const sweep = async (): Promise<void> => {
    try {
      await clock.sync();
      await inspect();
      await claim(isTakeoverDue);
      isTakeoverDue = false;
      await options.onSweep?.();
    } catch (error) {
      log.error('The journal cannot be read; the next sweep tries again.', { error });
    }
    if (closed) return;
    const due = await journal.nextWake().catch(() => undefined);
    const jitter = sweepMs * (0.9 + Math.random() * 0.2);
    sweepTimer = real.setTimeout(() => (sweeping = sweep()), Math.max(5, Math.min(jitter, due ?? jitter)));
  };

  const create = async (request: NewRun, body: Body): Promise<CreateResult> => {
    // What the box itself has begun, it completes: a child of a step under way, a schedule that is due. Others run it.
    if (closed && request.parentRunId === null && request.trigger !== 'schedule') throw shuttingDown();
    const created = async (): Promise<CreateResult> => {
      // Cut off after its commit, it leaves a run that a repeat with the same key, or the sweep, takes up.
      const result = await journal.create(request);
      if (result.outcome === 'created') teller.created(result.run);
      // Without a turn in between where there is nothing to prepare.
      if (result.outcome === 'created' && result.run.owner === owner)
        if (body.prepare) await begin(result.run, body, request.records ?? []);
        else launch(result.run, body, request.records ?? []);
      if (result.outcome === 'created' && result.run.owner === null) replicas.signal(result.run.runId);
      if (result.outcome === 'repeated' && result.run.owner === owner && !isHere(result.run.runId))
        void take(result.run.runId);
      return result;
    };
    return enter(() => arrive(request.runId, created));
  };

  const begin = async (run: RunRow, body: Body, records: JournalRecord[]): Promise<void> => {
    try {
      await body.prepare?.(records);
      launch(run, body, records);
    } catch (error) {
      await cancel(run.runId, error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  };

  const cancel = async (runId: string, reason: Error): Promise<CancelResult | undefined> => {
    const result = await journal.cancel(runId, encodeError(reason), newRunId);
    if (result?.outcome !== 'cancelled') return result;
    teller.cancelled(result);
    for (const cancelled of result.cancelled) {
      live.get(cancelled)?.abandon(reason);
      settled(cancelled, null);
    }
    const parent = (await journal.getRun(runId).catch(() => undefined))?.parentRunId;
    if (parent) replicas.signal(parent);
    for (const promoted of result.promoted) replicas.signal(promoted.runId);
    return result;
  };

  /**
   * A parent cancelled before its child was stored did not reach it; one cancelled after reaches it itself. The answer
   * stays a start: whoever asked is gone.
   */
  const withdrawIfOrphaned = async (parentRunId: string, result: CreateResult): Promise<void> => {
    const parent = await journal.getRun(parentRunId);
    if (parent?.status !== 'cancelled') return;
    if (result.outcome === 'created') await cancel(result.run.runId, parentCancelled());
    else if (result.outcome === 'queued') await journal.queue.remove(result.triggerId);
  };

  // A turn has a client waiting in this process, so it never queues.
  const claimFor = (kind: RunKind): NewRun['claim'] =>
    !closed && (kind === 'agent' || live.size < maxLive) ? { owner, leaseMs } : null;

  const replicas = createReplicas({
    doorbell: options.doorbell,
    journal,
    live,
    watchers,
    take,
    claim: async () => (armed ? claim(false) : undefined),
  });

  const stop = async (): Promise<void> => {
    closed = true;
    closing.abort();
    real.clearTimeout(sweepTimer);
    await atMost(
      STORE_MS,
      Promise.allSettled([sweeping]).then(() => Promise.allSettled(entering)),
    );
    real.clearTimeout(sweepTimer);
    await drain([...live.values()], options.drainMs ?? 0);
    await atMost(STORE_MS, giveBack());
    clearInterval(renewTimer);
    replicas.stop();
  };

  const giveBack = async (): Promise<void> => {
    const waiting = (await suspects.close()).map(async (run) => {
      await persist(() => journal.append(released(run)), leaseMs);
      replicas.ring('due', run.runId);
    });
    const held = [...live].map(async ([runId, execution]) => {
      await execution.release();
      replicas.ring('due', runId);
    });
    await Promise.allSettled([...waiting, ...held]);
  };

  return {
    clock,
    get armed() {
      return armed;
    },
    async arm() {
      if (armed || closed) return;
      armed = true;
      renewTimer = setInterval(() => void journal.renew(owner, leaseMs).catch(() => {}), leaseMs / 3);
      sweeping = sweep();
      await sweeping;
    },
    async start(request) {
      const body = request.body ?? (await options.resolve({ kind: request.kind, name: request.name }));
      const parent = request.parentRunId === undefined ? undefined : live.get(request.parentRunId)?.run;
      const attributes = { ...inheritedMarks(parent), ...request.attributes };
      const result = await create(newRunOf({ ...request, attributes }, body, claimFor(request.kind)), body);
      if (request.parentRunId !== undefined) await withdrawIfOrphaned(request.parentRunId, result);
      return result;
    },
    async findRepeat({ name, idempotencyKey, digest }) {
      const used = await journal.findByKey(keyOfStart(name, idempotencyKey));
      if (!used) return undefined;
      return used.digest === digest ? { outcome: 'repeated', run: used.run } : { outcome: 'idempotency_conflict' };
    },
    async retry(run, from, { serial, idempotencyKey } = {}) {
      const body = await options.resolve(run);
      const records = from === 'start' ? [] : keptRecords(await journal.getRecords(run.runId), clock.now());
      const { kind, name } = run;
      const request = newRunOf(
        { kind, name, trigger: 'retry', input: null, ...(serial ? { serial } : {}) },
        body,
        claimFor(kind),
      );
      const seed = records.length > 0 ? { seed: run.seed ?? `${run.traceId}:${run.createdAt}`, records } : {};
      const key = `${name}:retry ${run.runId} ${idempotencyKey}`;
      const keyed = idempotencyKey === undefined ? {} : { idempotency: { key, digest: from } };
      const rest = {
        input: run.input,
        retryOf: run.runId,
        sessionId: run.sessionId,
        attributes: ownAttributes(run),
      };
      return create({ ...request, ...rest, ...seed, ...keyed }, body);
    },
    async dequeue(triggerId) {
      const found = await journal.queue.find(triggerId);
      if (!found || !('queued' in found) || !(await journal.queue.remove(triggerId))) return false;
      if (found.queued.parentRunId !== null) replicas.signal(found.queued.parentRunId);
      return true;
    },
    async unblock(runId) {
      const run = await journal.getRun(runId);
      if (!run || run.status !== 'blocked') return false;
      const { codeHash } = await options.resolve(run);
      if (!(await journal.unblock(runId, codeHash))) return false;
      teller.run('run.resumed', run, 'queued');
      replicas.signal(runId);
      return true;
    },
    cancel,
    async resumeHook(token, payload, given) {
      const result = await journal.hooks.resume(token, encode(payload, 'payload'), given);
      teller.decided(result, given);
      if (result?.outcome === 'resumed') replicas.signal(result.hook.runId);
      return result;
    },
    nextChange: (runId, signal) => watchers.nextChange(runId, signal),
    wait: (runId, timeoutMs, signal) => watchers.wait(runId, timeoutMs, { isHere: live.has(runId), signal }),
    closing: closing.signal,
    async tick() {
      // Before anything else runs: a sweep that is under way would take the leases for expired.
      await journal.renew(owner, leaseMs);
      for (const execution of live.values()) execution.rearm();
      await sweeping;
      if (closed || !armed) return;
      real.clearTimeout(sweepTimer);
      await (sweeping = sweep());
    },
    async nextDue() {
      const left = await journal.nextWake();
      const inMemory = [...live.values()].flatMap(({ nextDue }) => nextDue ?? []);
      const all = left === undefined ? inMemory : [...inMemory, clock.now() + left];
      return all.length === 0 ? undefined : Math.min(...all);
    },
    runningSteps: (runId) => live.get(runId)?.runningSteps,
    get liveRuns() {
      return live.size + entering.size + suspects.waiting;
    },
    close: () => (stopping ??= stop()),
  };
}

// --- internal ---

function newRunOf(request: StartRequest, body: Body, claim: NewRun['claim']): NewRun {
  const runId = request.runId ?? newRunId();
  const input = encode(request.input, 'input');
  const { idempotencyKey: key, serial } = request;
  return {
    runId,
    traceId: toTraceId(runId),
    kind: request.kind,
    name: request.name,
    trigger: request.trigger,
    codeHash: body.codeHash,
    sessionId: request.sessionId ?? null,
    parentRunId: request.parentRunId ?? null,
    retryOf: null,
    input,
    ...(key === undefined
      ? {}
      : { idempotency: { key: keyOfStart(request.name, key), digest: request.digest ?? input } }),
    ...(serial ? { serial: { ...serial, triggerId: newRunId() } } : {}),
    ...(Object.keys(request.attributes ?? {}).length > 0 ? { attributes: JSON.stringify(request.attributes) } : {}),
    claim,
    durability: body.durability,
  };
}

/** What is hidden is hidden with all that it starts. */
function inheritedMarks(parent: RunRow | undefined): Record<string, string> {
  const askedBy = parent && askedByOf(parent);
  return askedBy === undefined ? {} : { [ASKED_BY]: askedBy };
}

/** The marks of the box: a retry has them from its first moment, those of the code when it sets them. */
function ownAttributes({ attributes }: RunRow): string | null {
  if (attributes === null) return null;
  const own = Object.entries(JSON.parse(attributes) as object).filter(([name]) => name.startsWith('svc.'));
  return own.length > 0 ? JSON.stringify(Object.fromEntries(own)) : null;
}

function keyOfStart(name: string, key: string): string {
  return `${name}:${key}`;
}

/** Lets the steps under way end, and begins no others. */
async function drain(executions: Execution[], timeoutMs: number): Promise<void> {
  for (const execution of executions) execution.hold();
  const end = real.performanceNow() + timeoutMs;
  while (executions.some((execution) => execution.isBusy) && real.performanceNow() < end)
    await new Promise((resolve) => real.setTimeout(resolve, 10));
}

function shuttingDown(): BoxError {
  const message =
    'The box is shutting down and takes no more starts. Send it again: to another replica, or in a moment.';
  return new BoxError('shutting_down', message, { details: { retryAfter: 1 } });
}

function parentCancelled(): Error {
  return Object.assign(new Error('The run that started this one was cancelled.'), { code: 'parent_cancelled' });
}

async function findChild(
  journal: Journal,
  child: { runId: string } | { triggerId: string },
): Promise<RunRow | undefined> {
  if ('runId' in child) return journal.getRun(child.runId);
  const found = await journal.queue.find(child.triggerId);
  // A start that still waits in the queue is not over; its run will signal.
  return found && ('run' in found ? found.run : ({ status: 'queued' } as RunRow));
}

function released({ runId, epoch, seq }: RunRow): Append {
  return { runId, epoch, seq, records: [], patch: { release: true }, durability: 'process' };
}

function unavailable(run: RunRow, error: unknown, wakeAt: number): Append {
  const message = error instanceof Error ? error.message : String(error);
  const waitingFor = JSON.stringify({ type: 'code', message });
  const patch = { status: 'waiting' as const, wakeAt, waitingFor, release: true };
  return { runId: run.runId, epoch: run.epoch, seq: run.seq, records: [], patch, durability: 'process' };
}
