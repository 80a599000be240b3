import type { Log } from '../log.ts';
import { createStoreClock } from './clock.ts';
import type { StoreClock } from './clock.ts';
import { runOutside } from './context.ts';
import { DEFAULT_LIMITS, Execution } from './execution.ts';
import type { Body, Limits } from './execution.ts';
import { real } from './real.ts';
import { newRunId, toTraceId } from './ids.ts';
import type { Append, AppendResult, Journal, JournalRecord, NewRun, RunKind, RunRow, RunTrigger } from './journal.ts';
import { isFinal } from './journal.ts';
import { encode } from './serialize.ts';

export interface EngineOptions {
  journal: Journal;
  log: Log;
  /** Unique per process and boot: the name a lease is held under. */
  owner: string;
  /** The code of a run; throws when it cannot be had (the run then waits and is tried again). */
  resolve(kind: RunKind, name: string): Promise<Body>;
  /** The store can be held by this process alone, so leases of earlier processes are void at boot. */
  exclusive: boolean;
  limits?: Partial<Limits>;
  /** Milliseconds a lease lasts without renewal. Default 30,000. */
  leaseMs?: number;
  /** Milliseconds between sweeps. Default 1,000. */
  sweepMs?: number;
  /** Runs in memory at once; more wait as `queued`. Default 1,000. */
  maxLive?: number;
}

export interface StartRequest {
  kind: RunKind;
  name: string;
  trigger: RunTrigger;
  input: unknown;
  sessionId?: string;
  /** Code to run instead of what `resolve` answers: an agent's turn that streams to a client in this process. */
  body?: Body;
}

export interface Engine {
  readonly clock: StoreClock;
  /** Begins taking runs from the journal. Until then nothing runs. */
  arm(): Promise<void>;
  readonly armed: boolean;
  /** Answers once the run is in the journal. */
  start(request: StartRequest): Promise<RunRow>;
  /** Answers when the run is final, or what it is after `timeoutMs`. Undefined: no such run. */
  wait(runId: string, timeoutMs: number): Promise<RunRow | undefined>;
  /** Ends a run this process holds; false: it does not hold it. */
  cancel(runId: string, reason: Error): Promise<boolean>;
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
  const watchers = new Map<string, Set<() => void>>();
  let armed = false;
  let closed = false;
  let sweepTimer: ReturnType<typeof setTimeout> | undefined;
  let sweeping: Promise<void> | undefined;
  let renewTimer: ReturnType<typeof setInterval> | undefined;

  const append = (entry: Append): Promise<AppendResult> => appendWithin(journal, entry, leaseMs);

  const launch = (run: RunRow, body: Body, records: JournalRecord[]): Execution => {
    const execution = new Execution({
      run,
      body,
      records,
      clock,
      limits,
      append,
      onLeave(how) {
        live.delete(run.runId);
        if (how === 'ended') notify(run.runId);
        if (how === 'dropped') log.warn('The run left this process.', { runId: run.runId, name: run.name });
      },
    });
    live.set(run.runId, execution);
    return execution;
  };

  const notify = (runId: string): void => {
    for (const wake of watchers.get(runId) ?? []) wake();
  };

  /** Continues a run taken from the journal. */
  const resume = async (run: RunRow): Promise<void> => {
    if (live.has(run.runId)) return;
    try {
      const records = run.seq > 0 ? await journal.getRecords(run.runId) : [];
      const body = await options.resolve(run.kind, run.name);
      const execution = launch(run, body, records);
      if (body.abandoned) await execution.cancel(body.abandoned);
      else runOutside(() => execution.launch());
    } catch (error) {
      log.warn('The run waits: its code cannot be loaded.', { runId: run.runId, name: run.name, error });
      const message = error instanceof Error ? error.message : String(error);
      const patch = {
        status: 'waiting' as const,
        wakeAt: clock.now() + UNAVAILABLE_RETRY_MS,
        waitingFor: JSON.stringify({ type: 'code', message }),
        release: true,
      };
      await append({ runId: run.runId, epoch: run.epoch, seq: run.seq, records: [], patch, durability: 'process' });
    }
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

  const sweep = async (): Promise<void> => {
    try {
      await clock.sync();
      await claim(false);
    } catch (error) {
      log.error('The journal cannot be read; the next sweep tries again.', { error });
    }
    if (closed) return;
    const due = await journal.nextWake().catch(() => undefined);
    const jitter = sweepMs * (0.9 + Math.random() * 0.2);
    sweepTimer = real.setTimeout(() => (sweeping = sweep()), Math.max(5, Math.min(jitter, due ?? jitter)));
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
      if (options.exclusive) await claim(true);
      sweeping = sweep();
      await sweeping;
    },
    async start(request) {
      const body = request.body ?? (await options.resolve(request.kind, request.name));
      // A turn has a client waiting in this process, so it never queues.
      const claimed = request.kind === 'agent' || live.size < maxLive;
      const run = await journal.create(newRunOf(request, body, claimed ? { owner, leaseMs } : null));
      if (claimed) {
        const execution = launch(run, body, []);
        runOutside(() => execution.launch());
      }
      return run;
    },
    async wait(runId, timeoutMs) {
      const before = await journal.getRun(runId);
      if (!before || isFinal(before.status) || timeoutMs <= 0) return before;
      await watch(watchers, runId, timeoutMs, async () => {
        const run = await journal.getRun(runId);
        return !run || isFinal(run.status);
      });
      return journal.getRun(runId);
    },
    async cancel(runId, reason) {
      const execution = live.get(runId);
      if (!execution) return false;
      await execution.cancel(reason);
      return true;
    },
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
  return {
    runId,
    traceId: toTraceId(runId),
    kind: request.kind,
    name: request.name,
    trigger: request.trigger,
    codeHash: body.codeHash,
    sessionId: request.sessionId ?? null,
    parentRunId: null,
    retryOf: null,
    input: encode(request.input, 'input'),
    claim,
    durability: body.durability,
  };
}

/** An append is safe to repeat (the store knows a record by its id), so a store that fails gets the lease's time to come back. */
async function appendWithin(journal: Journal, entry: Append, leaseMs: number): Promise<AppendResult> {
  const giveUp = real.performanceNow() + leaseMs;
  for (let delay = 50; ; delay = Math.min(delay * 2, 2_000)) {
    try {
      return await journal.append(entry);
    } catch (error) {
      if (real.performanceNow() + delay > giveUp) throw error;
      await new Promise((resolve) => real.setTimeout(resolve, delay));
    }
  }
}

/** Resolves when the run is final: told by this process, or seen in the journal (another replica ended it), or when time is up. */
function watch(
  watchers: Map<string, Set<() => void>>,
  runId: string,
  timeoutMs: number,
  poll: () => Promise<boolean>,
): Promise<void> {
  return new Promise((resolve) => {
    const set = watchers.get(runId) ?? new Set();
    watchers.set(runId, set);
    const done = () => {
      clearTimeout(timer);
      clearInterval(poller);
      set.delete(done);
      if (set.size === 0) watchers.delete(runId);
      resolve();
    };
    const check = () =>
      void poll().then(
        (final) => final && done(),
        () => {},
      );
    const timer = setTimeout(done, timeoutMs);
    const poller = setInterval(check, 500);
    set.add(done);
    check();
  });
}
