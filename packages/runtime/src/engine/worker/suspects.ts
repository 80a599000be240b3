import type { RunRow } from '../journal/run.ts';
import { real } from '../real.ts';

/** How many attempts at one position may kill their process. */
export const POISON_LIMIT = 5;

/** The owner of the run died at the position where it stands: the run may be what killed it. */
export function isSuspect(run: Pick<RunRow, 'crashSeq' | 'seq'>): boolean {
  return run.crashSeq === run.seq;
}

/** Lets the suspects of this process go on one at a time. */
export interface Suspects {
  /** Suspects that wait for their turn. */
  readonly waiting: number;
  /** Whether any run waits or has the turn. */
  readonly isIdle: boolean;
  has(runId: string): boolean;
  /** Resumes the run when it is its turn. */
  add(run: RunRow, resume: () => Promise<void>): void;
  /** The run has recorded something, waits, or is gone: the turn goes to the next. */
  pass(runId: string): void;
  /** Begins no more; answers the runs that wait, once the one that is being resumed is. */
  close(): Promise<RunRow[]>;
}

/**
 * Two lines. A run that was never marked when a process died has the turn for `graceMs` at most, so that the steps of
 * an honest crash, however long they take, do not wait for each other. One that was has it until it has recorded
 * something: whatever dies with the process then is counted for this run alone.
 */
export function createSuspects(graceMs = GRACE_MS): Suspects {
  const lines = [createLine(graceMs), createLine(undefined)] as const;
  return {
    get waiting() {
      return lines[0].waiting.size + lines[1].waiting.size;
    },
    get isIdle() {
      return lines.every((line) => line.isIdle);
    },
    has: (runId) => lines.some((line) => line.waiting.has(runId)),
    add: (run, resume) => lines[run.crashCount === 0 ? 0 : 1].add(run, resume),
    pass(runId) {
      for (const line of lines) line.pass(runId);
    },
    close: async () => (await Promise.all(lines.map((line) => line.close()))).flat(),
  };
}

// --- internal ---

/** A process that is killed by what it runs mostly dies sooner; the timer waits for a body that blocks the event loop. */
const GRACE_MS = 100;

interface Waiting {
  run: RunRow;
  resume(): Promise<void>;
}

interface Line extends Pick<Suspects, 'isIdle' | 'add' | 'pass' | 'close'> {
  readonly waiting: ReadonlyMap<string, Waiting>;
}

function createLine(graceMs: number | undefined): Line {
  const waiting = new Map<string, Waiting>();
  let holder: string | undefined;
  let resuming: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pass = (runId: string): void => {
    if (holder !== runId) return;
    holder = undefined;
    real.clearTimeout(timer);
    next();
  };
  const next = (): void => {
    const [first] = waiting.values();
    if (holder !== undefined || !first) return;
    const { runId } = first.run;
    waiting.delete(runId);
    holder = runId;
    if (graceMs !== undefined) timer = real.setTimeout(() => pass(runId), graceMs);
    resuming = first.resume();
  };
  return {
    waiting,
    get isIdle() {
      return holder === undefined && waiting.size === 0;
    },
    add(run, resume) {
      waiting.set(run.runId, { run, resume });
      next();
    },
    pass,
    async close() {
      real.clearTimeout(timer);
      const left = [...waiting.values()].map(({ run }) => run);
      waiting.clear();
      await resuming;
      return left;
    },
  };
}
