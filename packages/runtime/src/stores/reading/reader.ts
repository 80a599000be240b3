import { BoxError } from '../../errors.ts';
import type { SqlError } from '../client.ts';

/** Runs one statement of someone who may read the tables of the project and nothing else. */
export interface Reader {
  /**
   * Throws `query_failed` for what the database refuses, `query_timeout`, `query_too_large` for a first row beyond
   * `MOST_BYTES`, `too_many_queries`, and `query_login_unavailable`.
   */
  read(text: string, options?: { rows?: number }): Promise<ReadAnswer>;
}

export interface ReadAnswer {
  columns: { name: string; typeId: number }[];
  /** As the server writes them. */
  rows: (string | null)[][];
  /** What it was cut off by; null: this is all. */
  cut: 'rows' | 'size' | null;
}

export const MOST_ROWS = 1_000;
export const MOST_BYTES = 5 * 1024 * 1024;
/** At a time, in one process. */
export const MOST_QUERIES = 4;

/**
 * What is sent for the text of a statement, each as a message that takes a single one. A cursor is declared for queries alone,
 * so the grammar of the database itself refuses all else: what sets, calls, copies, locks or ends a transaction.
 */
export function toStatements(text: string, rows: number): { declare: string | undefined; answer: string } {
  if (EXPLAIN.test(text)) return { declare: undefined, answer: text };
  return { declare: `${DECLARE}${text}`, answer: `fetch ${rows + 1} from box_read` };
}

/** Where the statement of the caller begins in what is sent. */
export function offsetOf({ declare }: { declare: string | undefined }): number {
  return declare === undefined ? 0 : DECLARE.length;
}

export function queryFailed(error: unknown, offset = 0): unknown {
  if (!(error instanceof Error) || error instanceof BoxError) return error;
  const { code, hint, position, severity } = error as SqlError & { position?: string };
  if (severity === undefined || code === undefined) return error;
  const at = Number(position) - offset;
  const message = `The database refuses the statement: ${error.message.replace(/\.?$/, '.')}`;
  const details = { sqlState: code, ...(hint ? { hint } : {}), ...(at > 0 ? { position: at } : {}) };
  return new BoxError('query_failed', message, { cause: error, details });
}

export function queryTimeout(ms: number): BoxError {
  const message = `The statement took longer than ${ms / 1_000} seconds and was stopped. Ask for less, or for what an index finds.`;
  return new BoxError('query_timeout', message, { details: { seconds: ms / 1_000 } });
}

export function queryTooLarge(): BoxError {
  const message = `One row of the answer is larger than ${MOST_BYTES / 1024 / 1024} MiB. Ask for less of it: left(body, 1000), for example.`;
  return new BoxError('query_too_large', message, { details: { bytes: MOST_BYTES } });
}

/** The same reader, which refuses what comes while `MOST_QUERIES` are under way. */
export function limitReader(reader: Reader): Reader {
  let running = 0;
  return {
    async read(text, options) {
      if (running >= MOST_QUERIES) {
        const message = `${MOST_QUERIES} database queries are under way. Try again once one of them is over.`;
        throw new BoxError('too_many_queries', message, { details: { retryAfter: 1 } });
      }
      running += 1;
      try {
        return await reader.read(text, options);
      } finally {
        running -= 1;
      }
    },
  };
}

/** The answer within its limits. */
export function toAnswer(answer: Omit<ReadAnswer, 'cut'>, limits: { rows: number; isCut: boolean }): ReadAnswer {
  if (limits.isCut && answer.rows.length === 0) throw queryTooLarge();
  if (answer.rows.length > limits.rows) return { ...answer, rows: answer.rows.slice(0, limits.rows), cut: 'rows' };
  return { ...answer, cut: limits.isCut ? 'size' : null };
}

// --- internal ---

const DECLARE = 'declare box_read no scroll cursor for ';
/** Its first word says what a single statement is. */
const EXPLAIN = /^\s*explain[\s(]/i;
