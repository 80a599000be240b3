export interface QueryOptions {
  /** The same text is sent again and again: a client may keep it prepared on its connections. */
  prepared?: boolean;
  /** Milliseconds after which a client behind a network gives the statement, and the connection, up. Default: none. */
  timeoutMs?: number;
}

/**
 * The thin client both Postgres homes offer: `pg` against a server, PGlite in a worker. Positional parameters `$1`.
 * Rows come as objects with text-safe values: int8 as number, json parsed, timestamps as the server's text.
 */
export interface SqlClient {
  query<Row = Record<string, unknown>>(text: string, params?: unknown[], options?: QueryOptions): Promise<Row[]>;
  /** Several statements without parameters. */
  exec(text: string): Promise<void>;
  /** Runs `work` alone on one session: commits when it resolves, rolls back when it rejects. */
  transaction<T>(work: (tx: Omit<SqlClient, 'transaction' | 'close'>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A client of a single connection, which is reopened when it is lost. */
export interface SqlConnection extends SqlClient {
  /** It has not been lost in the last few seconds. */
  readonly isSteady: boolean;
  /**
   * Has the work done on the connection, and on each that takes its place before anything else is: what it takes on its session
   * is there for as long as this process has one. Behind a pooler, where no session is this process's own, it is never done.
   */
  keep(work: (session: Pick<SqlClient, 'query'>) => Promise<void>): Promise<void>;
}
