import type { Recalled, Rememberer } from '../agents/turn/memory.ts';
import type { MemoryState } from './table.ts';

/** A turn that this process has taken, to embed its pieces. */
export interface Job {
  runId: string;
  attempts: number;
}

/** A process that embeds. */
export interface Embedder {
  model: string;
  /** Since when it is with that model, by the clock of the database. */
  since: string;
}

export interface RememberedRow {
  runId: string;
  sessionId: string;
  agent: string;
  client: string | null;
  userId: string;
  state: MemoryState;
  error: string | null;
  createdAt: Date;
  pieces: string[];
}

export interface MemoryFilter {
  agent?: string | undefined;
  client?: string | undefined;
  user?: string | undefined;
}

/** What is remembered, as it is stored: of an end user of a client, by agent, and by no one else. */
export interface MemoryStore {
  /** Keeps the pieces of a turn, once. False: the session is gone, or not that user's, or the turn was cut from it. */
  add(of: Rememberer, runId: string, pieces: readonly string[]): Promise<boolean>;
  /** Whether there is anything to be found. */
  hasAny(of: Rememberer, model: string): Promise<boolean>;
  /** The nearest, the best first. Throws `vector_unavailable`. */
  nearest(
    of: Rememberer,
    asked: { model: string; vector: readonly number[]; limit: number },
  ): Promise<(Recalled & { text: string })[]>;
  /** Those that are still there. */
  read(of: Rememberer, pieces: readonly Recalled[]): Promise<{ runId: string; n: number; text: string }[]>;
  list(
    filter: MemoryFilter,
    page: { after: readonly [at: string, runId: string] | undefined; limit: number },
  ): Promise<(RememberedRow & { at: string })[]>;
  /** Answers how many turns. */
  clear(filter: MemoryFilter & { user: string }): Promise<number>;
}

/** What is to be embedded. */
export interface MemoryJobs {
  /** What the clock of the database says, as text. */
  now(): Promise<string>;
  /** The turn that has been due for longest, of one of the agents, and waits for no other model. Undefined: none is. */
  claim(agents: readonly string[], model: string): Promise<Job | undefined>;
  pieces(job: Job): Promise<string[]>;
  /** False: it is no longer this process's, or gone. */
  finish(job: Job, by: Embedder, vectors: readonly (readonly number[])[]): Promise<boolean>;
  /** Whoever looks after the pause has it. */
  putBack(job: Job, how: { reason: string | null; attempts: number; pauseMs: number }): Promise<void>;
  giveUp(job: Job, by: Embedder, reason: string): Promise<void>;
  /**
   * What was made with another model, failed with one or waits for one, is due again for this one, if a process made it so
   * that has been with its model for longer. Answers how many turns.
   * @param lately only turns of the last two hours, which an index finds
   */
  requeueOthers(by: Embedder, how: { lately: boolean }): Promise<number>;
}
