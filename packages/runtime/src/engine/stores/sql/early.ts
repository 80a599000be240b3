import type { EarlyResume, EarlyStore } from '../../journal/early.ts';
import { decodeText } from './rows.ts';
import type { StoredRow, StoredValue } from './rows.ts';
import type { Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export function createEarlyStore({ tables, query, commit, now }: Statements): EarlyStore {
  const { early, hooks } = tables;
  const read = async (rest: string, params: StoredValue[]): Promise<EarlyResume[]> =>
    (await query(`select ${COLUMNS} from ${early} e where ${rest}`, params)).map(toResume);
  return {
    async keep({ earlyId, token, payload, idempotencyKey }, { ms, mostOfToken, most }) {
      const at = await now();
      const id = toStoredText(earlyId);
      const key = idempotencyKey === null ? null : toStoredText(idempotencyKey);
      await query(
        `insert into ${early} (early_id, token, payload, idempotency_key, created_at, until, tried_at)
        select ?, ?, ?, ?, cast(? as bigint), cast(? as bigint), 0
        where (select count(*) from ${early} where token = ?) < cast(? as bigint)
          and (select count(*) from ${early}) < cast(? as bigint)
        on conflict (early_id) do nothing returning early_no`,
        [id, toStoredText(token), toStoredText(payload), key, at, at + ms, toStoredText(token), mostOfToken, most],
      );
      const [resume] = await read('e.early_id = ?', [id]);
      return resume ? { outcome: 'kept', resume } : { outcome: 'full' };
    },
    async listReady(limit) {
      return read(
        `e.early_no in (select min(early_no) from ${early} where until > ? group by token)
          and exists (select 1 from ${hooks} h where h.token = e.token and h.is_open = 1 and h.kind = 'hook')
        order by e.tried_at, e.early_no limit ?`,
        [await now(), limit],
      );
    },
    noteTried: async (earlyNo) =>
      commit([[`update ${early} set tried_at = ? where early_no = ?`, [await now(), earlyNo]]]),
    async remove(earlyNo) {
      return (await query(`delete from ${early} where early_no = ? returning early_no`, [earlyNo])).length > 0;
    },
    list({ token }, { limit, after = 0 }) {
      const of = token === undefined ? '' : 'and e.token = ?';
      const params = token === undefined ? [after] : [after, toStoredText(token)];
      return read(`e.early_no > ? ${of} order by e.early_no limit ?`, [...params, limit]);
    },
    async forgetExpired() {
      await commit([[`delete from ${early} where until <= ?`, [await now()]]]);
      const [row] = await query(`select min(early_no) as "first" from ${early}`, []);
      return row?.first != null;
    },
  };
}

// --- internal ---

const COLUMNS = Object.entries({
  earlyNo: 'early_no',
  earlyId: 'early_id',
  token: 'token',
  payload: 'payload',
  idempotencyKey: 'idempotency_key',
  createdAt: 'created_at',
  until: 'until',
})
  .map(([key, column]) => `e.${column} as "${key}"`)
  .join(', ');

function toResume(row: StoredRow): EarlyResume {
  const decoded = decodeText(row);
  return { ...decoded, earlyNo: Number(decoded.earlyNo) } as unknown as EarlyResume;
}
