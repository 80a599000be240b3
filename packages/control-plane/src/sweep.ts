import type { Log } from '../../runtime/src/log.ts';
import { KEPT_MS } from './identity/key-store.ts';
import type { Db } from './store/db.ts';
import { sql } from './store/sql.ts';
import type { Sql } from './store/sql.ts';

/** Removes what has expired, now and every ten minutes; it keeps no process from ending. */
export interface Sweep {
  /** Answers once what has expired by now is gone. */
  run(): Promise<void>;
  close(): Promise<void>;
}

export interface SweepOptions {
  db: Db;
  log: Log;
  now(): number;
}

export function createSweep({ db, log, now }: SweepOptions): Sweep {
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  const sweepAll = async () => {
    for (const statement of listStatements(now())) {
      // In small parts: on SQLite whoever asks meanwhile waits for the one that is under way.
      while (!closing.signal.aborted && (await db.run(statement)) > 0);
    }
  };
  const run = () => {
    running ??= sweepAll()
      .catch((error: unknown) => log.warn('What has expired was not removed. It is tried again later.', { error }))
      .finally(() => (running = undefined));
    return running;
  };
  const timer = setInterval(() => void run(), PERIOD).unref();
  void run();
  return {
    run,
    async close() {
      closing.abort();
      clearInterval(timer);
      await running;
    },
  };
}

// --- internal ---

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PERIOD = 10 * MINUTE;
const PART = 500;
const REFRESH_DAYS = 30;
/** How long the log says what was done, and how long what was of no organisation. */
const AUDIT_DAYS = 365;
const AUDIT_DAYS_WITHOUT = 30;

/** Each is repeated until it finds nothing. */
function listStatements(now: number): Sql[] {
  const expired = sql`where expires_at <= ${now} limit ${PART}`;
  const minute = Math.floor(now / MINUTE) - 2;
  const before = (days: number) => now - days * DAY;
  return [
    sql`delete from plane_sessions where id in (select id from plane_sessions ${expired})`,
    sql`delete from plane_invites where id in (select id from plane_invites ${expired})`,
    sql`delete from plane_personal_tokens where id in (select id from plane_personal_tokens ${expired})`,
    sql`delete from plane_tunnels where installation_id in (select installation_id from plane_tunnels ${expired})`,
    // For a while a client that polls gets the answer that the code has expired.
    sql`delete from plane_device_codes where device_hash in (select device_hash from plane_device_codes
      where expires_at <= ${now - HOUR} limit ${PART})`,
    sql`delete from plane_access_tokens where token_hash in (select token_hash from plane_access_tokens ${expired})`,
    // With the refresh tokens of it.
    sql`delete from plane_families where id in (select id from plane_families ${expired})`,
    // Of a session that goes on: those that would be too old by themselves.
    sql`delete from plane_refresh_tokens where token_hash in (select token_hash from plane_refresh_tokens
      where used_at <= ${before(REFRESH_DAYS)} limit ${PART})`,
    sql`delete from plane_signing_keys where retired_at <= ${now - KEPT_MS}`,
    sql`delete from plane_attempts where minute < ${minute}
      and subject in (select subject from plane_attempts where minute < ${minute} limit ${PART})`,
    sql`delete from plane_audit where id in (select id from plane_audit where at < ${before(AUDIT_DAYS)} limit ${PART})`,
    sql`delete from plane_audit where id in (select id from plane_audit
      where organization_id is null and at < ${before(AUDIT_DAYS_WITHOUT)} limit ${PART})`,
  ];
}
