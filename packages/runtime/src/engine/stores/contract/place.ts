import type { Journal } from '../../journal.ts';

/** One empty place for a journal, which can be opened several times. */
export interface JournalPlace {
  open(): Promise<Journal>;
  /** Makes the place's schema what a build of an earlier version made it. */
  migrate(version: number): Promise<void>;
  /** Runs a statement on the journal's database. It is given the prefix of its tables. */
  change(statement: (prefix: string) => string): Promise<void>;
  /** How many rows a table has, by its name without the prefix. */
  count(table: string): Promise<number>;
  /** After every journal opened here is closed. */
  remove(): Promise<void>;
}
