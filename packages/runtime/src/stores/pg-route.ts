import type { ClientBase, QueryResult } from 'pg';
import { BoxError } from '../errors.ts';

/**
 * Where the connections of a pool lead. A pooler such as PgBouncer hands the statements of one connection to many
 * sessions of the server: what is set for a session, or prepared in it, is another client's by the next statement.
 */
export interface PgRoute {
  /** A connection has been opened. */
  readonly isKnown: boolean;
  /** They lead to the server itself. */
  readonly isDirect: boolean;
  /** Sets up the session of a new connection, where it has one of its own. */
  setUp(client: ClientBase, timeoutMs: number): Promise<void>;
  /** Throws where a pooler gives sessions whose tables are not the project's. */
  check(session: Queryable): Promise<void>;
  /** What opens a transaction. */
  readonly begin: string;
  /** Milliseconds a statement outside of a transaction may take where the server does not watch over it; 0: no limit. */
  readonly limitMs: number;
}

interface Queryable {
  query(text: string): Promise<QueryResult>;
}

/** @param statementTimeoutMs how long a statement may take where neither the role nor the address says so; 0: no limit */
export function createRoute(statementTimeoutMs: number): PgRoute {
  let isDirect: boolean | undefined;
  return {
    get isKnown() {
      return isDirect !== undefined;
    },
    get isDirect() {
      return isDirect === true;
    },
    async setUp(client, timeoutMs) {
      // The server gives each session its process, and a pooler makes one up.
      const process = Number((client as { processID?: number | null }).processID ?? 0);
      const isOwn = `pg_backend_pid() = ${process}`;
      const text = `${PUBLIC_FIRST} and ${isOwn}; ${limitFor(statementTimeoutMs, false)} and ${isOwn}; select ${isOwn} as own`;
      const config = { text, query_timeout: timeoutMs };
      const results = (await client.query(config)) as unknown as QueryResult<{ own?: boolean }>[];
      isDirect = results.at(-1)?.rows[0]?.own === true;
    },
    async check(session) {
      if (isDirect !== false) return;
      const { rows } = await session.query(PATH_OF_SESSION);
      const { role, path, first, others } = rows[0] as { role: string; path: string; first: string; others: boolean };
      if (first === 'public' && !others) return;
      const reason = `DATABASE_URL leads to a connection pooler, and tables of the role "${role}" are looked for in ${path}`;
      const advice = `Run alter role "${role}" set search_path = public on the server, or take its own address.`;
      throw new BoxError('environment_invalid', `${reason}, which is not the schema "public" first. ${advice}`);
    },
    get begin() {
      const isSet = isDirect !== false || statementTimeoutMs === 0;
      return isSet ? 'begin' : `begin; ${limitFor(statementTimeoutMs, true)}`;
    },
    get limitMs() {
      return isDirect === false ? statementTimeoutMs : 0;
    },
  };
}

// --- internal ---

/**
 * A table without a schema is in `public`, as in PGlite. The path of a server begins with the schema called like the role:
 * to a role "svc" the project's tables would be among the box's own, and its `sessions` would be the box's.
 */
const PUBLIC_FIRST = `
  select set_config('search_path', concat_ws(', ', 'public', string_agg(quote_ident(name), ', ' order by place)), false)
  from unnest(current_schemas(false)) with ordinality as path (name, place)
  where name not in ('public', 'svc')
  having current_setting('search_path') <> 'public'`;

/** The schema "svc" may not be there yet, and come first once it is. */
const PATH_OF_SESSION = `
  select current_user as role, current_setting('search_path') as path, (current_schemas(false))[1] as first,
    current_setting('search_path') ~ '(^|[, ])"?svc"?($|,)'
      or (current_user = 'svc' and current_setting('search_path') like '%$user%') as others`;

function limitFor(ms: number, isLocal: boolean): string {
  return `
  select set_config('statement_timeout', '${ms}', ${isLocal}) where current_setting('statement_timeout') = '0'`;
}
