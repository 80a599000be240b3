import type { Sql } from './sql.ts';

/** Rows of statements that SQLite and PostgreSQL both take. Columns `like_this` come as members `likeThis`. */
export interface Queries {
  all<Row>(query: Sql): Promise<Row[]>;
  /** The first row, or undefined. */
  get<Row>(query: Sql): Promise<Row | undefined>;
  /** How many rows it has changed. */
  run(query: Sql): Promise<number>;
}

/** Where the control plane keeps what it knows. Times are milliseconds since 1970, truths 0 and 1, documents JSON text. */
export interface Db extends Queries {
  readonly dialect: 'sqlite' | 'postgres';
  /**
   * As if nothing else happened meanwhile. `work` may be run again when another transaction came in between: it does
   * nothing but statements, all of them over `tx`. Commits when it resolves, rolls back when it rejects.
   */
  transaction<T>(work: (tx: Queries) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

export interface TransactionOptions {
  /**
   * It begins by changing the row it decides by, where that is as it expects: whoever comes second waits for that row, and sees
   * what the first has left. So nothing else has to be as if alone, and transactions about other rows are none that conflict.
   */
  isClaim?: boolean;
}

/** `user_id` as `userId`, of every column. */
export function toMembers<Row>(row: object): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as Row;
}
