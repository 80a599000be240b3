import { sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';

/** So many milliseconds from now, in the time of the database. */
export function later(ms: number): SQL {
  return sql`now() + make_interval(secs => ${ms / 1_000}::float8)`;
}
