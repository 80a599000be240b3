import type { QueryOptions, SqlClient } from '../../../stores/sql.ts';

/** Of one statement that many writes share. */
export const COMMIT_LIMITS = { maxEntries: 1_000, maxBytes: 8 * 1024 * 1024 };

/** A start, or a resume, of more bytes has a transaction: those behind it would wait a second for a turn with images. */
export const MOST_SHARED = 1024 * 1024;

/**
 * The client, none of whose statements holds its connection for longer than `timeoutMs` unanswered: a group commit that
 * waits for a connection the network has swallowed would hold up every commit after it.
 */
export function limitClient(sql: SqlClient, timeoutMs: number): SqlClient {
  const limited = <S extends Pick<SqlClient, 'query'>>(session: S): S => ({
    ...session,
    query: <Row>(text: string, params?: unknown[], options?: QueryOptions) =>
      session.query<Row>(text, params, { ...options, timeoutMs }),
  });
  return { ...limited(sql), transaction: (work) => sql.transaction((tx) => work(limited(tx))) };
}
