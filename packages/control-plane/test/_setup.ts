import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { readSettings } from '../src/config.ts';
import type { PasswordCost } from '../src/passwords/hash.ts';
import { createPlane } from '../src/plane.ts';
import type { Plane } from '../src/plane.ts';

export const DATABASE_URL = process.env.SVC_TEST_DATABASE_URL;

/** The stores a control plane may have; PostgreSQL where there is a server for the tests. */
export const STORES = DATABASE_URL ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const);
export type StoreName = (typeof STORES)[number];

export const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');

/** The variables of an empty store of its own, which is removed when the test is over. */
export async function makeStore(name: StoreName): Promise<Record<string, string>> {
  if (name === 'sqlite') return { PLANE_DATA_DIR: makeFolder() };
  const database = `plane_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${database}`);
  onTestFinished(() => onServer(`drop database if exists ${database} with (force)`));
  const url = new URL(DATABASE_URL ?? '');
  url.pathname = `/${database}`;
  return { PLANE_DATABASE_URL: url.href };
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-plane-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A port nothing listens on at this moment. */
export async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** A clock that stands still until it is moved, at the time of this machine. */
export function makeClock(): { now(): number; move(ms: number): void } {
  let time = Date.now();
  return { now: () => time, move: (ms) => void (time += ms) };
}

export interface RunningPlane extends Plane {
  url: string;
}

export interface StartOptions {
  store?: StoreName;
  env?: Record<string, string>;
  now?(): number;
  /** Default: `least`, for what is not about passwords. */
  passwordCost?: PasswordCost;
  /** Less than the usual 5, for what signs in command lines. */
  pollSeconds?: number;
}

/** A control plane that listens on a port of its own on this machine, in the full mode. */
export async function startPlane(options: StartOptions = {}): Promise<RunningPlane> {
  const { store = 'sqlite', env = {}, ...others } = options;
  const full = { PLANE_SECRET_KEY: SECRET_KEY, PLANE_ALLOW_PRIVATE: '1' };
  return startWith(
    { ...full, ...((env.PLANE_DATA_DIR ?? env.PLANE_DATABASE_URL) ? {} : await makeStore(store)), ...env },
    others,
  );
}

/** The same in the standalone mode. */
export function startStandalone(env: Record<string, string>, now?: () => number): Promise<RunningPlane> {
  return startWith(env, now ? { now } : {});
}

// --- internal ---

async function startWith(
  env: Record<string, string>,
  options: Pick<StartOptions, 'now' | 'passwordCost' | 'pollSeconds'>,
): Promise<RunningPlane> {
  const settings = readSettings({ HOST: '127.0.0.1', PORT: '0', SVC_LOG_LEVEL: 'silent', ...env });
  const plane = await createPlane({ settings, passwordCost: 'least', ...options });
  onTestFinished(() => plane.close());
  const { port } = await plane.listen();
  // The name the control plane says it has by default, so that the origin of its own pages is right.
  return { ...plane, url: `http://localhost:${port}` };
}

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
