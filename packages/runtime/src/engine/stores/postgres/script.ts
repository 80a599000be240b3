import type { StoredRow } from '../sql/rows.ts';
import type { Script } from '../sql/script.ts';
import { NOW } from './sql.ts';
import { toNumbered } from './statements.ts';
import type { Transaction } from './transaction.ts';

/** Runs a script in a transaction. */
export async function runScript<T>(tx: Transaction, script: Script<T>): Promise<T> {
  let next = script.next();
  while (!next.done) {
    const given = next.value;
    if (!('locks' in given)) {
      next = script.next(await tx.query<StoredRow>(toNumbered(given.text), given.params));
      continue;
    }
    // One after the other, in this order, and the time last: a statement may take its expressions in any order.
    const { locks } = given;
    const taken = locks.map((_, index) => `pg_advisory_xact_lock(hashtextextended($${index + 1}::text, 0))`);
    if (locks.length > 0) await tx.query(`select ${taken.join(', ')}`, locks);
    next = script.next(await tx.query<StoredRow>(`select ${NOW} as now`));
  }
  return next.value;
}
