import type { Journal } from '../../journal.ts';
import { KEY_LIFE_MS } from './queries.ts';
import { decodeText, RUN_SELECT, toRunRow } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

/** Of the key of a start that still queues there is no run yet. */
export function createKeyReader({ tables: { keys, runs }, query, now }: Statements): Pick<Journal, 'findByKey'> {
  return {
    async findByKey(key) {
      const since = (await now()) - KEY_LIFE_MS;
      const used = `select digest, start_id as "startId" from ${keys} where key = ? and created_at > ?`;
      const [use] = await query(used, [toStoredText(key), since]);
      if (!use) return undefined;
      const id = use.startId ?? null;
      const [run] = await query(`select ${RUN_SELECT} from ${runs} where run_id = ? or trigger_id = ?`, [id, id]);
      return run && { run: toRunRow(run), digest: String(decodeText(use).digest) };
    },
  };
}
