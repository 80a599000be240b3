import { ProviderError } from '../agents/model/provider-error.ts';
import { runOutside } from '../engine/context.ts';
import { isStoreDown } from '../engine/persist.ts';
import { BoxError } from '../errors.ts';
import type { Log } from '../log.ts';
import { createLookPace } from '../look-pace.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { embedDocument } from './embed-document.ts';
import { toEmbedFailure } from './embed-failure.ts';
import { createJobs } from './jobs.ts';
import type { Job } from './jobs.ts';
import type { Vectors } from './vectors.ts';

/** Embeds what was added. Any replica takes any document, one at a time, by a lease in its row. */
export interface Ingest {
  /** Something may be due. Never waits and never throws. */
  sweep(): void;
  /** Something is due. */
  wake(): void;
  close(): Promise<void>;
}

export interface IngestOptions {
  db: Drizzle;
  vectors: Vectors;
  log: Log;
  /** Whether the database may be asked. */
  isOpen(): boolean;
  /** Called when nothing is due, and now and then. */
  settle(): Promise<void>;
  limits?: Partial<IngestLimits> | undefined;
}

export interface IngestLimits {
  /** Milliseconds for which a process has a document before another may take it. Raised while it is at it. */
  leaseMs: number;
  /** Between two looks for what is due; up to six times as long while nothing is. */
  everyMs: number;
  /** How often in a row a document is tried without getting on. */
  attempts: number;
  /** The first pause; each is twice the one before, up to five minutes. */
  pauseMs: number;
  /** Documents a process has at once. */
  atOnce: number;
}

export const INGEST_LIMITS: IngestLimits = { leaseMs: 60_000, everyMs: 5_000, attempts: 6, pauseMs: 2_000, atOnce: 2 };

export function createIngest({ db, vectors, log, isOpen, settle, ...options }: IngestOptions): Ingest {
  const limits = { ...INGEST_LIMITS, ...options.limits };
  const closing = new AbortController();
  const jobs = createJobs(db, limits.leaseMs);
  const workers = new Set<Promise<void>>();
  const pace = createLookPace(limits.everyMs);
  let forgetAt = 0;
  let asked = 0;
  let settling: Promise<void> = Promise.resolve();

  const complain = (error: unknown): void => {
    pace.dueIn(limits.everyMs);
    if (!closing.signal.aborted && !isStoreDown(error)) log.error('Documents could not be embedded.', { error });
  };
  const run = async (job: Job): Promise<void> => {
    const unwanted = new AbortController();
    const look = async (): Promise<void> => {
      if (!(await jobs.beat(job))) unwanted.abort();
    };
    const beat = setInterval(() => void look().catch(complain), limits.leaseMs / 3);
    try {
      const signal = AbortSignal.any([closing.signal, unwanted.signal]);
      await embedDocument(job, { db, vectors, jobs, signal });
    } catch (error) {
      if (!unwanted.signal.aborted) throw error;
    } finally {
      clearInterval(beat);
    }
  };
  const fail = async (job: Job, error: unknown): Promise<void> => {
    const isStopped = closing.signal.aborted;
    if (!isStopped && !(error instanceof BoxError || error instanceof ProviderError)) complain(error);
    // What is stopped in order goes on elsewhere at once.
    if (isStopped) return jobs.putBack(job, { reason: null, attempts: 0, pauseMs: 0 });
    const { attempts } = job;
    const { reason, pauseMs } = toEmbedFailure(error, attempts, { ...limits, triesUnknown: true });
    if (pauseMs !== undefined) {
      pace.dueIn(pauseMs);
      return jobs.putBack(job, { reason, attempts, pauseMs });
    }
    await jobs.giveUp(job, reason);
    log.warn(`A document could not be embedded: ${reason}`, { document: job.documentId });
  };

  const next = async (): Promise<Job | undefined> => (closing.signal.aborted ? undefined : jobs.claim());
  const work = async (): Promise<void> => {
    for (let seen = -1; seen !== asked;) {
      seen = asked;
      for (let job = await next(); job; job = await next()) {
        const taken = job;
        pace.found();
        await run(taken).catch((error: unknown) => fail(taken, error));
      }
      if (!closing.signal.aborted) await settle();
    }
  };
  const begin = (): void => {
    if (closing.signal.aborted || workers.size >= limits.atOnce || !isOpen()) return;
    const worker: Promise<void> = runOutside(work)
      .catch(complain)
      .finally(() => workers.delete(worker));
    workers.add(worker);
  };

  return {
    sweep() {
      if (closing.signal.aborted || !isOpen() || !pace.isTime()) return;
      begin();
      // Nothing waits for workers that are busy with other collections.
      settling = runOutside(settle).catch(complain);
      if (performance.now() < forgetAt) return;
      forgetAt = performance.now() + FORGET_EVERY_MS;
      void runOutside(() => vectors.forget(KEPT_DAYS)).catch(complain);
    },
    wake() {
      asked += 1;
      begin();
    },
    async close() {
      closing.abort(new Error('The box is being stopped.'));
      await Promise.all([...workers, settling]);
    },
  };
}

// --- internal ---

const FORGET_EVERY_MS = 3_600_000;
/** Days a vector is kept that no document was embedded with. */
const KEPT_DAYS = 7;
