import { createHash } from 'node:crypto';
import { rateLimited } from '../errors.ts';
import type { Db } from '../store/db.ts';
import { sql } from '../store/sql.ts';

/** Counts what failed, of every control plane on the store together; what succeeds is not counted, or not for long. */
export interface Throttle {
  /** Throws `rate_limited` while one of the subjects has failed too often. */
  require(subjects: readonly string[]): Promise<void>;
  /** One failure more. Throws `rate_limited` when it is one too many, as of several that came at once. */
  count(subjects: readonly string[]): Promise<void>;
  /**
   * As `count`, before it is known whether it fails: of many that come at once no more begin than may fail. What it answers
   * takes the failure back. Throws `rate_limited`.
   */
  begin(subjects: readonly string[]): Promise<() => Promise<void>>;
}

export interface ThrottleOptions {
  db: Db;
  now(): number;
  /** What a subject is a subject of: `login`, `device`. */
  kind: string;
  /** Failures of a subject in a minute that are borne. */
  most: number;
  /** A sentence: what there was too much of. */
  message: string;
}

/**
 * A minute that slides: of the failures of the last calendar minute those count that would lie in it if they had come
 * evenly, so that a caller who waits for the full minute gains nothing.
 */
export function createThrottle({ db, now, kind, most, message }: ThrottleOptions): Throttle {
  const toKey = (subject: string) => `${kind}:${createHash('sha256').update(subject).digest('base64url')}`;
  const read = async (key: string, minute: number): Promise<{ before: number; current: number }> => {
    const rows = await db.all<{ minute: number; count: number }>(
      sql`select minute, count from plane_attempts where subject = ${key} and minute >= ${minute - 1}`,
    );
    const of = (which: number) => rows.find((row) => row.minute === which)?.count ?? 0;
    return { before: of(minute - 1), current: of(minute) };
  };
  /** Of several at once each sees those that were counted before it. Answers how long to wait, 0 where it is not one too many. */
  const add = async (subjects: readonly string[], time: number): Promise<number> => {
    const minute = Math.floor(time / MINUTE);
    let wait = 0;
    for (const key of subjects.map(toKey)) {
      const row = await db.get<{ count: number }>(
        sql`insert into plane_attempts (subject, minute, count) values (${key}, ${minute}, 1)
          on conflict (subject, minute) do update set count = plane_attempts.count + 1 returning count`,
      );
      const { before } = await read(key, minute);
      const current = (row?.count ?? 1) - 1;
      wait = Math.max(wait, msToWait({ before, current, passed: time % MINUTE, most }));
    }
    return wait;
  };
  const takeBack = async (subjects: readonly string[], time: number): Promise<void> => {
    for (const key of subjects.map(toKey))
      await db.run(
        sql`update plane_attempts set count = count - 1
          where subject = ${key} and minute = ${Math.floor(time / MINUTE)} and count > 0`,
      );
  };
  return {
    async require(subjects) {
      const time = now();
      const minute = Math.floor(time / MINUTE);
      let wait = 0;
      for (const key of subjects.map(toKey))
        wait = Math.max(wait, msToWait({ ...(await read(key, minute)), passed: time % MINUTE, most }));
      if (wait > 0) throw rateLimited(message, wait / 1_000);
    },
    async count(subjects) {
      const wait = await add(subjects, now());
      if (wait > 0) throw rateLimited(message, wait / 1_000);
    },
    async begin(subjects) {
      const time = now();
      const wait = await add(subjects, time);
      if (wait === 0) return () => takeBack(subjects, time);
      // It has not begun, so it has not failed either.
      await takeBack(subjects, time);
      throw rateLimited(message, wait / 1_000);
    },
  };
}

// --- internal ---

const MINUTE = 60_000;

interface Counted {
  before: number;
  current: number;
  /** Milliseconds of the current minute. */
  passed: number;
  most: number;
}

function msToWait({ before, current, passed, most }: Counted): number {
  if (current + before * (1 - passed / MINUTE) < most) return 0;
  // Until enough of the minute before has slid out, or, where the current one is too many by itself, of that one.
  if (current < most) return MINUTE * (1 - (most - current) / before) - passed + 1;
  return MINUTE - passed + MINUTE * (1 - most / current) + 1;
}
