import type { StoredRow, StoredValue } from './rows.ts';
import type { Tables } from './tables.ts';

/** An insert of one row. */
export function insertInto(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`;
}

export type Statement = [text: string, params: StoredValue[]];

/** The database, for the parts of the journal whose SQL is the same in both. `?` marks a parameter. */
export interface Statements {
  readonly tables: Tables;
  /** Behind a select of rows that an update is about to take: those another process is taking are left out. */
  readonly lock: string;
  /** What counts the frames of the run of the same statement. */
  readonly frameCount: string;
  /** The condition that the column is in a list, which is one parameter: its JSON text. */
  isAmong(column: string): string;
  /** One statement that answers rows, in a commit of its own. */
  query(text: string, params: StoredValue[]): Promise<StoredRow[]>;
  /** Several statements that answer none, in one commit. */
  commit(statements: Statement[]): Promise<void>;
  /** The store's clock. */
  now(): Promise<number>;
}
