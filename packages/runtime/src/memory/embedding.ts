import type { CallEmbeddings } from '../agents/model/embeddings.ts';
import { runOutside } from '../engine/context.ts';
import { isStoreDown } from '../engine/persist.ts';
import type { Log } from '../log.ts';
import { createLookPace } from '../look-pace.ts';
import { toEmbedFailure } from '../rag/embed-failure.ts';
import { createOthersLook } from './others.ts';
import type { LookLimits } from './others.ts';
import type { Embedder, Job, MemoryJobs } from './store.ts';

/** Embeds what is to be remembered, after the turn it is of. Any replica takes any turn, by a lease in its row. */
export interface MemoryEmbedding {
  /** Something may be due. Never waits and never throws. */
  sweep(): void;
  /** Something is due. */
  wake(): void;
  close(): Promise<void>;
}

export interface MemoryEmbeddingOptions {
  jobs: MemoryJobs;
  callEmbeddings: CallEmbeddings;
  /** The embedding model of the workspace. Undefined: what is due waits. */
  model(): string | undefined;
  /** The agents that remember now. */
  agents(): readonly string[];
  log: Log;
  /** Whether the database may be asked. */
  isOpen(): boolean;
  limits: MemoryLimits;
}

export interface MemoryLimits extends LookLimits {
  /** Milliseconds for which a process has a turn before another may take it. */
  leaseMs: number;
  /** Between two looks for what is due; up to six times as long while nothing is. */
  everyMs: number;
  /** How often a turn is tried, of which no one would see to it that it is tried again: for about a day. */
  attempts: number;
  /** The first pause; each is twice the one before, up to five minutes. */
  pauseMs: number;
  /** That one agent remembers of one user: the newest. */
  pieces: number;
}

/** The lease is longer than a call may take. */
export const MEMORY_LIMITS: MemoryLimits = {
  leaseMs: 180_000,
  everyMs: 5_000,
  lookMs: 60_000,
  termMs: 3_600_000,
  attempts: 300,
  pauseMs: 2_000,
  pieces: 2_000,
};

export function createMemoryEmbedding(options: MemoryEmbeddingOptions): MemoryEmbedding {
  const { jobs, callEmbeddings, model, agents, log, isOpen, limits } = options;
  const lookForOthers = createOthersLook(jobs, limits);
  const closing = new AbortController();
  const { signal } = closing;
  let worker: Promise<void> | undefined;
  const pace = createLookPace(limits.everyMs);
  let asked = 0;

  const complain = (error: unknown): void => {
    pace.dueIn(limits.everyMs);
    if (!signal.aborted && !isStoreDown(error)) log.error('A turn could not be embedded for memory.', { error });
  };
  const fail = async (job: Job, by: Embedder, error: unknown): Promise<void> => {
    // What is stopped in order goes on elsewhere at once.
    if (signal.aborted) return jobs.putBack(job, { reason: null, attempts: 0, pauseMs: 0 });
    const { attempts } = job;
    const { reason, pauseMs } = toEmbedFailure(error, attempts, limits);
    if (pauseMs !== undefined) {
      pace.dueIn(pauseMs);
      return jobs.putBack(job, { reason, attempts, pauseMs });
    }
    log.warn(`A turn will not be remembered: ${reason}`, { runId: job.runId });
    return jobs.giveUp(job, by, reason);
  };
  const embed = async (job: Job, by: Embedder): Promise<void> => {
    const input = await jobs.pieces(job);
    const { vectors } = await callEmbeddings(
      { model: by.model, input, timeout: EMBED_MS },
      { signal, onTokens: () => {} },
    );
    await jobs.finish(job, by, vectors);
  };
  const work = async (): Promise<void> => {
    for (let seen = -1; seen !== asked;) {
      seen = asked;
      for (;;) {
        const name = model();
        const on = agents();
        if (signal.aborted || name === undefined || on.length === 0) return;
        const by = await lookForOthers(name);
        const job = await jobs.claim(on, name);
        if (!job) break;
        pace.found();
        await embed(job, by).catch((error: unknown) => fail(job, by, error));
      }
    }
  };
  const begin = (): void => {
    if (signal.aborted || worker || !isOpen() || agents().length === 0) return;
    worker = runOutside(work)
      .catch(complain)
      .finally(() => (worker = undefined));
  };
  return {
    sweep() {
      if (isOpen() && agents().length > 0 && pace.isTime()) begin();
    },
    wake() {
      asked += 1;
      begin();
    },
    async close() {
      closing.abort(new Error('The box is being stopped.'));
      await worker;
    },
  };
}

// --- internal ---

const EMBED_MS = 120_000;
