import type { Log } from '../log.ts';
import type { Ambient } from './handle.ts';
import { createStoreClock } from './clock.ts';
import type { StoreClock } from './clock.ts';
import { runOutside } from './context.ts';
import { DEFAULT_LIMITS, Execution } from './execution.ts';
import type { Body, ExecutionStore, Leave, Limits } from './execution.ts';
import { newRunId, toTraceId } from './ids.ts';
import type {
  CancelResult,
  CreateResult,
  Journal,
  JournalRecord,
  NewRun,
  ResumeResult,
  RunKind,
  RunRow,
  RunTrigger,
} from './journal.ts';
import { isFinal } from './journal.ts';
import { encodeError } from './outcome.ts';
import { real } from './real.ts';
import { keptRecords } from './retry.ts';
import { encode } from './serialize.ts';
import { appendWithin, createWatchers } from './watch.ts';

export interface EngineOptions {
  journal: Journal;
  log: Log;
  /** Unique per process and boot: the name a lease is held under. */
  owner: string;
  /** The code of a run; throws when it cannot be had (the run then waits and is tried again). */
  resolve(kind: RunKind, name: string): Promise<Body>;
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
  /** Work to be done with each sweep, such as firing schedules. */
  onSweep?(): Promise<void>;
}

export interface StartRequest {
  kind: RunKind;
  name: string;
  trigger: RunTrigger;
  input: unknown;
  sessionId?: string;
  parentRunId?: string;
  /** The same key with the same input answers the first start again for 24 hours. */
  idempotencyKey?: string;
  /** At most one unfinished run has this lock. Taken: the start queues, or is refused. */
  serial?: { key: string; whenTaken: 'queue' | 'refuse' };
  /** Code to run instead of what `resolve` answers: an agent's turn that streams to a client in this process. */
  body?: Body;
}

export interface Engine {
  readonly clock: StoreClock;
  readonly armed: boolean;
  /** Begins taking runs from the journal. Until then nothing runs. */
  arm(): Promise<void>;
  /** Answers once the run, or the queued start, is in the journal. */
  start(request: StartRequest): Promise<CreateResult>;
  /** A new run that keeps what a final one has recorded, up to the step that failed; or nothing of it. */
  retry(run: RunRow, from: 'failed-step' | 'start', serial?: StartRequest['serial']): Promise<CreateResult>;
  /** Drops a queued start; whoever waits for it is told. False: there is none (any more). */
  dequeue(triggerId: string): Promise<boolean>;
  /** Continues a blocked run on the code there is now. False: it is not blocked. */
  unblock(runId: string): Promise<boolean>;
  /** Ends a run and the runs below it. Undefined: no such run. */
  cancel(runId: string, reason: Error): Promise<CancelResult | undefined>;
  resumeHook(token: string, payload: unknown): Promise<ResumeResult | undefined>;
  /** Calls `listener` when this process ends the run or writes to one of its streams. Answers how to stop. */
  watch(runId: string, listener: () => void): () => void;
  /** Answers when the run is final, or what it is after `timeoutMs`. Undefined: no such run. */
  wait(runId: string, timeoutMs: number): Promise<RunRow | undefined>;
  /** Stops taking runs, lets records in flight finish, gives runs back. */
  close(): Promise<void>;
}

/** How long a run whose code cannot be loaded waits before the next try. */
const UNAVAILABLE_RETRY_MS = 5_000;
const CLAIM_BATCH = 100;

export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { journal, log, owner } = options;
  const leaseMs = options.leaseMs ?? 30_000;
  const sweepMs = options.sweepMs ?? 1_000;
  const maxLive = options.maxLive ?? 1_000;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const clock = await createStoreClock(journal);
  const live = new Map<string, Execution>();
  const watchers = createWatchers(journal);
  let armed = false;
  let closed = false;
  let sweepTimer: ReturnType<typeof setTimeout> | undefined;
  let sweeping: Promise<void> | undefined;
  let renewTimer: ReturnType<typeof setInterval> | undefined;

  const store: ExecutionStore = {
    append: (entry) => appendWithin(journal, entry, leaseMs),
    listEvents: (runId) => journal.hooks.listEvents(runId),
    resumeHook: (token, payload) => journal.hooks.resume(token, payload),
    findRun: (child) => findChild(journal, child),
    async writeChunks(runId, epoch, chunks) {
      const last = await journal.chunks.write(runId, epoch, chunks);
      watchers.notify(runId);
      return last;
    },
  };

  const leave = (run: RunRow, how: Leave, promoted?: RunRow): void => {
    live.delete(run.runId);
    if (how === 'dropped') log.warn('The run left this process.', { runId: run.runId, name: run.name });
    if (how === 'ended') settled(run.runId, run.parentRunId);
    if (promoted) void take(promoted.runId);
  };

  /** A run is final: whoever waits for it in this process looks again. */
  const settled = (runId: string, parentRunId: string | null): void => {
    watchers.notify(runId);
    if (parentRunId !== null) signal(parentRunId);
  };

  /** The run was signalled in the journal: by its execution here, or by taking it up. */
  const signal = (runId: string): void => {
    const execution = live.get(runId);
    if (execution) execution.poke();
    else void take(runId);
  };

  const launch = (run: RunRow, body: Body, records: JournalRecord[]): void => {
    const onLeave = (how: Leave, promoted?: RunRow) => leave(run, how, promoted);
    const execution = new Execution({ run, body, records, clock, limits, store, onLeave, ambient: options.ambient });
    live.set(run.runId, execution);
    runOutside(() => execution.launch());
  };

  /** Continues a run taken from the journal. */
  const resume = async (run: RunRow): Promise<void> => {
    if (live.has(run.runId)) return;
    try {
      const records = run.seq > 0 ? await journal.getRecords(run.runId) : [];
      const body = await options.resolve(run.kind, run.name);
      if (body.abandoned) await cancel(run.runId, body.abandoned);
      else launch(run, body, records);
    } catch (error) {
      log.warn('The run waits: its code cannot be loaded.', { runId: run.runId, name: run.name, error });
      await store.append(unavailable(run, error, clock.now() + UNAVAILABLE_RETRY_MS));
    }
  };

  const take = async (runId: string): Promise<void> => {
    if (!armed || closed || live.has(runId) || live.size >= maxLive) return;
    const run = await journal.claimRun(runId, { owner, leaseMs }).catch(() => undefined);
    if (run) await resume(run);
  };

  const claim = async (takeover: boolean): Promise<void> => {
    for (;;) {
      const room = Math.min(CLAIM_BATCH, maxLive - live.size);
      if (room <= 0 || closed) return;
      const runs = await journal.claim({ owner, leaseMs, limit: room, ...(takeover ? { takeover } : {}) });
      await Promise.all(runs.map(resume));
      if (runs.length < room) return;
    }
  };

  /** What happened to the runs in memory without this process: taken over, ended, signalled. */
  const inspect = async (): Promise<void> => {
    if (live.size === 0 || options.exclusive) return;
    const checked = [...live];
    const held = new Map((await journal.listHeld(owner)).map((run) => [run.runId, run]));
    for (const [runId, execution] of checked) {
      const row = held.get(runId);
      if (row && row.epoch === execution.run.epoch) {
        if (row.signals > execution.signals) execution.poke();
        continue;
      }
      const run = await journal.getRun(runId);
      if (run && isFinal(run.status)) execution.abandon(new Error(`The run is ${run.status}.`));
      else execution.drop(new Error('Another process has the run.'));
    }
  };

  const sweep = async (): Promise<void> => {
    try {
      await clock.sync();
      await inspect();
      await claim(false);
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
    const result = await journal.create(request);
    if (result.outcome === 'created' && result.run.owner === owner) launch(result.run, body, request.records ?? []);
    return result;
  };

  const cancel = async (runId: string, reason: Error): Promise<CancelResult | undefined> => {
    const result = await journal.cancel(runId, encodeError(reason), newRunId);
    if (result?.outcome !== 'cancelled') return result;
    for (const cancelled of result.cancelled) {
      live.get(cancelled)?.abandon(reason);
      settled(cancelled, null);
    }
    const parent = (await journal.getRun(runId))?.parentRunId;
    if (parent) signal(parent);
    for (const promoted of result.promoted) void take(promoted.runId);
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
    kind === 'agent' || live.size < maxLive ? { owner, leaseMs } : null;

  return {
    clock,
    get armed() {
      return armed;
    },
    async arm() {
      if (armed || closed) return;
      armed = true;
      renewTimer = setInterval(() => void journal.renew(owner, leaseMs).catch(() => {}), leaseMs / 3);
      if (options.exclusive) await claim(true);
      sweeping = sweep();
      await sweeping;
    },
    async start(request) {
      const body = request.body ?? (await options.resolve(request.kind, request.name));
      const result = await create(newRunOf(request, body, claimFor(request.kind)), body);
      if (request.parentRunId !== undefined) await withdrawIfOrphaned(request.parentRunId, result);
      return result;
    },
    async retry(run, from, serial) {
      const body = await options.resolve(run.kind, run.name);
      const records = from === 'start' ? [] : keptRecords(await journal.getRecords(run.runId));
      const { kind, name } = run;
      const request = newRunOf(
        { kind, name, trigger: 'retry', input: null, ...(serial ? { serial } : {}) },
        body,
        claimFor(kind),
      );
      const seed = records.length > 0 ? { seed: run.seed ?? `${run.traceId}:${run.createdAt}`, records } : {};
      return create({ ...request, input: run.input, retryOf: run.runId, sessionId: run.sessionId, ...seed }, body);
    },
    async dequeue(triggerId) {
      const found = await journal.queue.find(triggerId);
      if (!found || !('queued' in found) || !(await journal.queue.remove(triggerId))) return false;
      if (found.queued.parentRunId !== null) signal(found.queued.parentRunId);
      return true;
    },
    async unblock(runId) {
      const run = await journal.getRun(runId);
      if (!run || run.status !== 'blocked') return false;
      const { codeHash } = await options.resolve(run.kind, run.name);
      if (!(await journal.unblock(runId, codeHash))) return false;
      await take(runId);
      return true;
    },
    cancel,
    async resumeHook(token, payload) {
      const result = await journal.hooks.resume(token, encode(payload, 'payload'));
      if (result?.outcome === 'resumed') signal(result.hook.runId);
      return result;
    },
    watch: (runId, listener) => watchers.add(runId, listener),
    wait: (runId, timeoutMs) => watchers.wait(runId, timeoutMs),
    async close() {
      closed = true;
      real.clearTimeout(sweepTimer);
      clearInterval(renewTimer);
      await sweeping?.catch(() => {});
      real.clearTimeout(sweepTimer);
      await Promise.allSettled([...live.values()].map((execution) => execution.release()));
    },
  };
}

// --- internal ---

function newRunOf(request: StartRequest, body: Body, claim: NewRun['claim']): NewRun {
  const runId = newRunId();
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
    ...(key === undefined ? {} : { idempotency: { key: `${request.name}:${key}`, digest: input } }),
    ...(serial ? { serial: { ...serial, triggerId: newRunId() } } : {}),
    claim,
    durability: body.durability,
  };
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

function unavailable(run: RunRow, error: unknown, wakeAt: number) {
  const message = error instanceof Error ? error.message : String(error);
  const waitingFor = JSON.stringify({ type: 'code', message });
  const patch = { status: 'waiting' as const, wakeAt, waitingFor, release: true };
  return { runId: run.runId, epoch: run.epoch, seq: run.seq, records: [], patch, durability: 'process' as const };
}
