import type { Message, Outbox } from '../journal.ts';
import { decodeText } from './sql/rows.ts';
import type { Statement, Statements } from './sql/statements.ts';

/** The reading half; an append writes. */
export function createOutbox({ tables, query, commit }: Statements): Outbox {
  return {
    async read(limit) {
      const rows = await query(`select id, topic, payload from ${tables.outbox} order by id limit ?`, [limit]);
      return rows.map((row) => decodeText(row) as unknown as Message);
    },
    async remove(ids) {
      const statements: Statement[] = [];
      for (let from = 0; from < ids.length; from += REMOVED_AT_ONCE) {
        const some = ids.slice(from, from + REMOVED_AT_ONCE);
        statements.push([`delete from ${tables.outbox} where id in (${some.map(() => '?').join(', ')})`, some]);
      }
      if (statements.length > 0) await commit(statements);
    },
  };
}

// --- internal ---

/** Each number is a parameter, and a statement may have some thousands at most. */
const REMOVED_AT_ONCE = 500;
