import { runIdOf } from '../sql/write.ts';
import type { Write, Written } from '../sql/write.ts';

/** Writes that each need a transaction, beside the group commits, so that one that waits for a lock holds up no other. */
export interface Lanes {
  add(write: Write): Promise<Written>;
  idle(): Promise<void>;
}

/**
 * A few at a time, in the order they came in, and one at a time of each key: those of a key wait for each other in any
 * case, and need not take all connections to do so.
 */
export function createLanes(commit: (write: Write) => Promise<Written | Error>, most: number = MOST): Lanes {
  const lines = new Map<string, (() => Promise<void>)[]>();
  /** Keys with something to do and nothing under way. */
  const ready: string[] = [];
  let free = most;
  let idlers: (() => void)[] = [];

  const next = (): void => {
    for (const key of ready.splice(0, free)) void run(key);
    if (free < most) return;
    for (const resolve of idlers.splice(0)) resolve();
  };

  const run = async (key: string): Promise<void> => {
    const line = lines.get(key) ?? [];
    free -= 1;
    await line.shift()?.();
    free += 1;
    if (line.length > 0) ready.push(key);
    else lines.delete(key);
    next();
  };

  return {
    add: (write) =>
      new Promise((resolve, reject) => {
        const work = async (): Promise<void> => {
          const written = await commit(write).catch(toError);
          if (written instanceof Error) reject(written);
          else resolve(written);
        };
        const key = keyOf(write);
        const line = lines.get(key);
        if (line) return void line.push(work);
        lines.set(key, [work]);
        ready.push(key);
        next();
      }),
    idle: () => new Promise((resolve) => (free < most ? idlers.push(resolve) : resolve())),
  };
}

/** What a write may wait for; an end hands on a lock that only its run knows. */
export function keyOf(write: Write): string {
  if (write.type === 'append') return `run ${runIdOf(write)}`;
  const { serial, idempotency, ownId, runId } = write.run;
  if (serial) return `lock ${serial.key}`;
  if (ownId) return ownId.key;
  return idempotency ? `key ${idempotency.key}` : `run ${runId}`;
}

// --- internal ---

/** Half of the journal's connections. */
const MOST = 3;

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
