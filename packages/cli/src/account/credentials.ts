import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CliError } from '../errors.ts';

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
 * session at once would end it.
 */
export async function changeCredentials<T>(env: Env, change: (credentials: Credentials) => T | Promise<T>): Promise<T> {
  const file = findCredentialsFile(env);
  if (file === undefined)
    throw new CliError('credentials_invalid', 'There is no place for a session: HOME is not set.', {
      suggestion: 'Set HOME, or XDG_CONFIG_HOME, to a folder of yours.',
    });
  const release = await lock(file);
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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

async function lock(file: string): Promise<() => void> {
  const path = `${file}.lock`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    chmodSync(dirname(file), 0o700);
  } catch (error) {
    throw invalid(file, (error as Error).message);
  }
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx', mode: 0o600 });
      return () => rmSync(path, { force: true });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST') throw invalid(file, message);
    }
    if (isStale(path)) rmSync(path, { force: true });
    else await wait(50);
  }
}

function isStale(path: string): boolean {
  const { mtimeMs = Date.now() } = statSync(path, { throwIfNoEntry: false }) ?? {};
  return Date.now() - mtimeMs > STALE_MS;
}

function invalid(file: string, reason: string): CliError {
  return new CliError('credentials_invalid', `"${file}", which keeps your sessions, cannot be used: ${reason}.`, {
    suggestion: 'Make it readable, or remove it and run `svc login`.',
    details: { file },
  });
}
