import { chmodSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CliError } from '../errors.ts';
import type { Context } from '../context.ts';
import { interrupted } from './plane.ts';
import { isRecord } from '../is-record.ts';

/** What a session is kept as. */
export interface Tokens {
  accessToken: string;
  /** Good for one refresh: using it twice ends the session. */
  refreshToken: string;
  /** Of the access token, in milliseconds since 1970. */
  expiresAt: number;
}

export interface Credentials {
  /** The control plane signed in to last. */
  current?: string;
  /** By the address of the control plane. */
  endpoints: Record<string, Tokens>;
}

type Env = Record<string, string | undefined>;

/** Where sessions are kept. Undefined: the environment names no home. */
export function findCredentialsFile(env: Env): string | undefined {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = env;
  // The XDG rules: a path that is not absolute is to be ignored.
  if (isAbsolute(config)) return join(config, 'svc/credentials.json');
  return isAbsolute(home) ? join(home, '.config/svc/credentials.json') : undefined;
}

/** Empty where there is no file. Throws `credentials_invalid` for one that cannot be used. */
export function readCredentials(env: Env): Credentials {
  const file = findCredentialsFile(env);
  const text = file === undefined ? undefined : readIfThere(file);
  if (file === undefined || text === undefined) return { endpoints: {} };
  return parse(file, text);
}

/**
 * Reads, changes and writes the file while no other `svc` does. What `change` awaits is inside: two refreshes of one
 * session at once would end it. Ctrl-C ends the wait for the other one, and nothing is changed.
 */
export async function changeCredentials<T>(
  { env, signal, say }: Pick<Context, 'env' | 'signal' | 'say'>,
  change: (credentials: Credentials) => T | Promise<T>,
): Promise<T> {
  const file = findCredentialsFile(env);
  if (file === undefined)
    throw new CliError('credentials_invalid', 'There is no place for a session: HOME is not set.', {
      suggestion: 'Set HOME, or XDG_CONFIG_HOME, to a folder of yours.',
    });
  const release = await lock(file, { signal, say });
  try {
    const credentials = readCredentials(env);
    const before = JSON.stringify(credentials);
    // Also after a failure: a refresh that was refused takes the session out.
    try {
      return await change(credentials);
    } finally {
      if (JSON.stringify(credentials) !== before) write(file, credentials);
    }
  } finally {
    release();
  }
}

// --- internal ---

/** Longer than a request to the control plane may take. */
const STALE_MS = 60_000;
/** Longer than it takes from making the file to writing who did. */
const UNSIGNED_MS = 1000;
const TOLD_AFTER_MS = 1000;

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw invalid(file, message);
  }
}

function parse(file: string, text: string): Credentials {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(file, 'it is not JSON');
  }
  const { current, endpoints } = (value ?? {}) as Partial<Credentials>;
  const isWhole =
    isRecord(endpoints) &&
    Object.values(endpoints).every(isTokens) &&
    (current === undefined || typeof current === 'string');
  if (!isWhole) throw invalid(file, 'it does not hold what `svc login` writes');
  return { ...(current === undefined ? {} : { current }), endpoints };
}

function isTokens(value: unknown): value is Tokens {
  if (!isRecord(value)) return false;
  const { accessToken, refreshToken, expiresAt } = value;
  return typeof accessToken === 'string' && typeof refreshToken === 'string' && typeof expiresAt === 'number';
}

function write(file: string, credentials: Credentials): void {
  const draft = `${file}.${process.pid}.new`;
  try {
    // A file that was left behind may have another mode.
    rmSync(draft, { force: true });
    writeFileSync(draft, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw invalid(file, (error as Error).message);
  }
}

async function lock(file: string, { signal, say }: Pick<Context, 'signal' | 'say'>): Promise<() => void> {
  const path = `${file}.lock`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    chmodSync(dirname(file), 0o700);
  } catch (error) {
    throw invalid(file, (error as Error).message);
  }
  const begun = performance.now();
  for (let isTold = false; ;) {
    if (signal.aborted) throw interrupted();
    if (take(path, file)) return () => rmSync(path, { force: true });
    if (isLeft(path) && clear(path)) continue;
    if (!isTold && performance.now() - begun > TOLD_AFTER_MS) {
      say(`Another svc has "${file}" open; waiting for it.`);
      isTold = true;
    }
    await wait(50, undefined, { signal }).catch(() => undefined);
  }
}

/** False: another process holds it. */
function take(path: string, file: string): boolean {
  try {
    writeFileSync(path, `${process.pid} ${hostname()}`, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    throw invalid(file, message);
  }
}

/** Whether whoever made the lock is gone. On another machine with the same home, or where nothing is in it, its age says. */
function isLeft(path: string): boolean {
  const { mtimeMs = Date.now() } = statSync(path, { throwIfNoEntry: false }) ?? {};
  const age = Date.now() - mtimeMs;
  if (age > STALE_MS) return true;
  const [, pid, host = hostname()] = /^(\d+)(?: (.+))?$/.exec(readIfThere(path)?.trim() ?? '') ?? [];
  if (pid === undefined) return age > UNSIGNED_MS;
  return host === hostname() && !isRunning(Number(pid));
}

/**
 * Removes a lock that was left. Moved aside first and looked at again: another command may have done the same a moment
 * ago and hold the one that lies there. False: there is nothing any more.
 */
function clear(path: string): boolean {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
    if (!isLeft(aside)) linkSync(aside, path);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(aside, { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Of another user: it is there.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function invalid(file: string, reason: string): CliError {
  return new CliError('credentials_invalid', `"${file}", which keeps your sessions, cannot be used: ${reason}.`, {
    suggestion: 'Make it readable, or remove it and run `svc login`.',
    details: { file },
  });
}
