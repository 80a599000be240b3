import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError } from '../errors.ts';

export interface Lock {
  /** Gives the folder free. Safe to call twice. */
  release(): void;
}

/**
 * Keeps a second process away from the folder the lock file lies in. A lock whose process is gone is taken over; one
 * whose process lives is refused with `already_running`, naming the process and the folder.
 */
export async function acquireLock(file: string): Promise<Lock> {
  mkdirSync(dirname(file), { recursive: true });
  const mine = JSON.stringify({ pid: process.pid, startTime: readStartTime(process.pid) } satisfies Owner);
  const deadline = Date.now() + TAKEOVER_MS;
  while (!createFile(file, mine)) {
    const owner = readOwner(file);
    if (owner && isAlive(owner)) throw alreadyRunning(file, owner);
    if (!removeStale(file)) {
      if (Date.now() > deadline) throw alreadyRunning(file, owner);
      await sleep(POLL_MS); // another starter is at it: the next look shows which of the two has it
    }
  }
  return {
    release() {
      if (readText(file) === mine) rmSync(file, { force: true });
    },
  };
}

// --- internal ---

interface Owner {
  pid: number;
  /** Clock ticks since boot when the process began; null where the system does not say. A pid alone is used again. */
  startTime: string | null;
}

const TAKEOVER_MS = 10_000;
const POLL_MS = 20;
/** A lock file is written in the same call sequence that makes it: one still without content after this is a dead one. */
const WRITE_MS = 2_000;

/** False: the file is there already. */
function createFile(file: string, content: string): boolean {
  let handle: number;
  try {
    handle = openSync(file, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  writeSync(handle, content);
  closeSync(handle);
  return true;
}

/**
 * Removes a lock whose owner is gone. Only the holder of the guard file removes, and looks again before it does:
 * without it, the slower of two starters would remove the lock that the faster one has just made.
 */
function removeStale(file: string): boolean {
  const guard = `${file}.takeover`;
  if (!createFile(guard, '')) {
    if (ageOf(guard) > TAKEOVER_MS / 2) rmSync(guard, { force: true }); // its maker died in between
    return false;
  }
  try {
    const owner = readOwner(file);
    const isBeingWritten = !owner && ageOf(file) < WRITE_MS;
    if (isBeingWritten || (owner && isAlive(owner))) return false;
    rmSync(file, { force: true });
    return true;
  } finally {
    rmSync(guard, { force: true });
  }
}

function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(readText(file) ?? '') as Owner;
  } catch {
    return undefined;
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function ageOf(file: string): number {
  try {
    return Date.now() - statSync(file).mtimeMs;
  } catch {
    return 0;
  }
}

function isAlive({ pid, startTime }: Owner): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const now = readStartTime(pid);
  return now !== 'zombie' && (startTime === null || now === null || now === startTime);
}

function readStartTime(pid: number): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (!stat) return null;
  // The second field is the command in brackets and may hold anything: count from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? 'zombie' : (fields[19] ?? null);
}

function alreadyRunning(file: string, owner: Owner | undefined): BoxError {
  const folder = dirname(file);
  const who = owner ? `The process ${owner.pid}` : 'Another process';
  const details = { pid: owner?.pid ?? null, folder };
  return new BoxError('already_running', `${who} is already using "${folder}". Stop it first.`, { details });
}
