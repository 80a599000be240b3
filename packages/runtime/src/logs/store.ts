import { and, asc, desc, eq, gt, gte, inArray, lt, lte, sql } from 'drizzle-orm';
import { ADVISORY_LOCKS } from '../stores/advisory-locks.ts';
import type { Drizzle } from '../stores/drizzle.ts';
import { logs } from './table.ts';
import { CLIENT, LEVEL_NUMBERS, toLevelName, USER } from './entry.ts';
import type { LogEntry, NewLogEntry } from './entry.ts';
import type { LogFilter } from './filter.ts';

/** Entries have ids in the order of their commits: whoever has seen one has seen all before it, or can ask for them. */
export interface LogStore {
  /** All or none. Answers the id of the last one. */
  append(entries: readonly NewLogEntry[]): Promise<number>;
  /** Newest first, below `before`. */
  page(filter: LogFilter, page: { limit: number; before?: number }): Promise<LogEntry[]>;
  /** Oldest first, above `after` and up to `upTo`. */
  follow(filter: LogFilter, page: { limit: number; after: number; upTo: number }): Promise<LogEntry[]>;
  /** The ids of the oldest and the newest one; 0 where there is none. */
  bounds(): Promise<{ oldest: number; newest: number }>;
  deleteRuns(runIds: string[]): Promise<void>;
  /** Deletes at most `limit` that are older than so many days. Answers how many. */
  deleteOlder(days: number, limit: number): Promise<number>;
}

export function createLogStore(db: Drizzle): LogStore {
  return {
    async append(entries) {
      const column = (read: (entry: NewLogEntry) => unknown) => sql`${sql.param(entries.map(read))}::text[]`;
      // The lock is held until the commit, and ids are drawn under it: those of another replica come all before or all after.
      const rows = await db.execute<{ last: number }>(sql`
        with turn as materialized (select pg_advisory_xact_lock(${ADVISORY_LOCKS.logs})),
        given as (
          select given.* from turn, unnest(
            ${column((entry) => entry.at)}, ${column((entry) => String(LEVEL_NUMBERS[entry.level]))},
            ${column((entry) => entry.message)}, ${column((entry) => entry.runId)},
            ${column((entry) => entry.sessionId)}, ${column((entry) => entry.name)},
            ${column((entry) => entry.step)}, ${column((entry) => entry.requestId)},
            ${column((entry) => entry.fields)}
          ) with ordinality as given (at, level, message, run_id, session_id, name, step, request_id, fields, n)
        ),
        kept as (
          insert into ${logs} (at, level, message, run_id, session_id, name, step, request_id, fields)
          select at::timestamptz, level::int, message, run_id::uuid, session_id::uuid, name, step, request_id, fields::jsonb
          from given order by n
          returning id
        )
        select max(id) as last from kept`);
      return (rows as unknown as { last: number }[])[0]?.last ?? 0;
    },
    async page(filter, { limit, before }) {
      const rows = await db
        .select()
        .from(logs)
        .where(and(where(filter), before === undefined ? undefined : lt(logs.id, before)))
        .orderBy(desc(logs.id))
        .limit(limit);
      return rows.map(toEntry);
    },
    async follow(filter, { limit, after, upTo }) {
      const rows = await db
        .select()
        .from(logs)
        .where(and(where(filter), gt(logs.id, after), lte(logs.id, upTo)))
        .orderBy(asc(logs.id))
        .limit(limit);
      return rows.map(toEntry);
    },
    async bounds() {
      const [row] = await db
        .select({
          oldest: sql<number>`coalesce(min(${logs.id}), 0)`,
          newest: sql<number>`coalesce(max(${logs.id}), 0)`,
        })
        .from(logs);
      return { oldest: Number(row?.oldest ?? 0), newest: Number(row?.newest ?? 0) };
    },
    async deleteRuns(runIds) {
      await db.delete(logs).where(inArray(logs.runId, runIds));
    },
    async deleteOlder(days, limit) {
      const rows = (await db.execute(sql`
        with old as (
          select id from ${logs} where at < now() - ${days}::float8 * interval '1 day' order by at limit ${limit}
        ), gone as (delete from ${logs} where id in (select id from old) returning id)
        select count(*)::int as count from gone`)) as unknown as { count: number }[];
      return rows[0]?.count ?? 0;
    },
  };
}

// --- internal ---

type Row = typeof logs.$inferSelect;

function where(filter: LogFilter) {
  const { level, runId, sessionId, name, step, text, client, user, from, to, hidden } = filter;
  return and(
    level === undefined ? undefined : gte(logs.level, LEVEL_NUMBERS[level]),
    runId === undefined ? undefined : eq(logs.runId, runId),
    sessionId === undefined ? undefined : eq(logs.sessionId, sessionId),
    name === undefined ? undefined : eq(logs.name, name),
    step === undefined ? undefined : eq(logs.step, step),
    client === undefined ? undefined : sql`${logs.fields}->>${CLIENT} = ${client}`,
    user === undefined ? undefined : sql`${logs.fields}->>${USER} = ${user}`,
    hidden && sql`coalesce(${logs.fields}->>${hidden.mark}, ${hidden.unless}) = ${hidden.unless}`,
    from && gte(logs.at, from),
    to && lt(logs.at, to),
    text === undefined
      ? undefined
      : sql`position(lower(${text}) in lower(${logs.message} || ' ' || coalesce(${logs.fields}::text, ''))) > 0`,
  );
}

function toEntry({ at, level, ...row }: Row): LogEntry {
  return { ...row, at: at.toISOString(), level: toLevelName(level) };
}
