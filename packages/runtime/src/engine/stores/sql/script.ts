import type { StoredRow, StoredValue } from './rows.ts';
import type { Statements } from './statements.ts';

/**
 * Work of one transaction that is the same in both databases. It yields statements and is handed the rows they answer;
 * `?` marks a parameter. To yield names takes a lock of each until the transaction ends, in their order, and answers the
 * store's time from then on as `now`: a database with one writer has nothing to lock.
 */
export type Script<T> = Generator<Ask, T, StoredRow[]>;
export type Ask = { text: string; params: StoredValue[] } | { locks: string[] };

/** What a script knows of its database. */
export type Dialect = Pick<Statements, 'tables' | 'lock'>;

export function* ask(text: string, ...params: StoredValue[]): Script<StoredRow[]> {
  return yield { text, params };
}

export function* askOne(text: string, ...params: StoredValue[]): Script<StoredRow | undefined> {
  const [row] = yield { text, params };
  return row;
}

/** Takes the locks and answers the time. */
export function* takeLocks(locks: string[]): Script<number> {
  const [row] = yield { locks };
  return Number(row?.now ?? 0);
}
