import type { Delivery, FailingReceiver, Notice, NoticeStore } from '../../journal/notices.ts';
import { decodeText } from './rows.ts';
import type { StoredRow, StoredValue } from './rows.ts';
import type { Statement, Statements } from './statements.ts';
import { toStoredText } from './text.ts';

export function createNoticeStore(statements: Statements): NoticeStore {
  const { tables, lock, query, commit, now } = statements;
  const { notices, topics, deliveries } = tables;
  const select = `select ${COLUMNS} from ${deliveries}`;
  const read = async (rest: string, params: StoredValue[]): Promise<Delivery[]> =>
    (await query(`${select} ${rest}`, params)).map(toDelivery);
  const find = async (deliveryId: string): Promise<Delivery | undefined> =>
    (await read('where delivery_id = ?', [toStoredText(deliveryId)]))[0];
  return {
    ...createReceiverStore(statements),
    async listen(wanted) {
      const known = wanted.map((topic): Statement => [
        `insert into ${topics} (topic) values (?) on conflict (topic) do nothing`,
        [topic],
      ]);
      const others = wanted.length > 0 ? ` where topic not in (${wanted.map(() => '?').join(', ')})` : '';
      await commit([
        [`delete from ${topics}${others}`, [...wanted]],
        [`delete from ${notices}${others}`, [...wanted]],
        ...known,
      ]);
    },
    async look() {
      const at = await now();
      const [row] = await query(
        `select (select min(notice_no) from ${notices}) as "first", (select min(next_at) from ${deliveries} where next_at is not null) as "nextAt"`,
        [],
      );
      return { now: at, hasNotices: row?.first != null, nextAt: (row?.nextAt as number | null | undefined) ?? null };
    },
    async listNotices(limit) {
      const rows = await query(
        `select notice_no as "noticeNo", topic as "topic", run_id as "runId", mark as "mark", at as "at"
        from ${notices} order by notice_no limit ?`,
        [limit],
      );
      return rows.map(decodeText) as unknown as Notice[];
    },
    async deliver(noted, made) {
      const at = await now();
      const inserts = made.map(({ deliveryId, receiver, type, runId, body }): Statement => [
        `insert into ${deliveries} (delivery_id, receiver, type, run_id, body, state, attempts, next_at, created_at)
        values (?, ?, ?, ?, ?, 'pending', 0, ?, ?) on conflict (delivery_id) do nothing`,
        [...[deliveryId, receiver, type, runId, body].map(toStoredText), at, at],
      ]);
      const gone = noted.map(({ noticeNo }): Statement => [`delete from ${notices} where notice_no = ?`, [noticeNo]]);
      await commit([...inserts, ...gone]);
    },
    async takeDue(receiver, limit, holdMs) {
      const at = await now();
      const rows = await query(
        `update ${deliveries} set next_at = ?, attempts = attempts + 1 where delivery_no in (
          select delivery_no from ${deliveries} where receiver = ? and next_at <= ? order by next_at limit ? ${lock})
        returning ${COLUMNS}`,
        [at + holdMs, toStoredText(receiver), at, limit],
      );
      return rows.map(toDelivery).toSorted((a, b) => a.deliveryNo - b.deliveryNo);
    },
    async settle({ deliveryNo, attempts }, { state, nextAt, error }) {
      const rows = await query(
        `update ${deliveries} set state = ?, next_at = ?, last_at = ?, last_error = ?
        where delivery_no = ? and state = 'pending' and (attempts = ? or ? = 'delivered') returning delivery_no`,
        [state, nextAt, await now(), error === null ? null : toStoredText(error), deliveryNo, attempts, state],
      );
      return rows.length > 0;
    },
    async release({ deliveryNo, attempts }) {
      await commit([
        [
          `update ${deliveries} set next_at = ?, attempts = attempts - 1 where delivery_no = ? and attempts = ? and state = 'pending'`,
          [await now(), deliveryNo, attempts],
        ],
      ]);
    },
    async redeliver(deliveryId) {
      await commit([
        [
          `update ${deliveries} set state = 'pending', attempts = 0, next_at = ? where delivery_id = ? and state <> 'pending'`,
          [await now(), toStoredText(deliveryId)],
        ],
      ]);
      return find(deliveryId);
    },
    async countPending() {
      const rows = await query(
        `select receiver as "receiver", count(*) as "count" from ${deliveries} where next_at is not null group by receiver`,
        [],
      );
      return rows.map((row) => ({ ...decodeText(row), count: Number(row.count) })) as never;
    },
    find,
    list({ receiver, state, runId }, { limit, before }) {
      const given: [string, StoredValue | undefined][] = [
        ['receiver = ?', receiver === undefined ? undefined : toStoredText(receiver)],
        ['state = ?', state],
        ['run_id = ?', runId === undefined ? undefined : toStoredText(runId)],
        ['delivery_no < ?', before],
      ];
      const used = given.filter(([, value]) => value !== undefined);
      const where = used.length > 0 ? `where ${used.map(([condition]) => condition).join(' and ')}` : '';
      return read(`${where} order by delivery_no desc limit ?`, [
        ...used.map(([, value]) => value as StoredValue),
        limit,
      ]);
    },
    forgetBefore: (at) => commit([[`delete from ${deliveries} where created_at < ?`, [at]]]),
  };
}

// --- internal ---

/** How receivers have fared. */
function createReceiverStore({
  tables: { receivers },
  query,
  commit,
  now,
}: Statements): Pick<NoticeStore, 'listFailing' | 'noteFailure' | 'noteSuccess'> {
  return {
    async listFailing() {
      const rows = await query(
        `select receiver as "receiver", failures as "failures", since as "since", paused_until as "pausedUntil", last_error as "lastError"
        from ${receivers}`,
        [],
      );
      return rows.map(decodeText) as unknown as FailingReceiver[];
    },
    async noteFailure(receiver, error, pausedUntil) {
      await commit([
        [
          `insert into ${receivers} as stored (receiver, failures, since, paused_until, last_error) values (?, 1, ?, ?, ?)
          on conflict (receiver) do update set failures = stored.failures + 1, last_error = excluded.last_error,
            paused_until = excluded.paused_until`,
          [toStoredText(receiver), await now(), pausedUntil, toStoredText(error)],
        ],
      ]);
    },
    noteSuccess: (receiver) => commit([[`delete from ${receivers} where receiver = ?`, [toStoredText(receiver)]]]),
  };
}

const COLUMNS = Object.entries({
  deliveryNo: 'delivery_no',
  deliveryId: 'delivery_id',
  receiver: 'receiver',
  type: 'type',
  runId: 'run_id',
  body: 'body',
  state: 'state',
  attempts: 'attempts',
  nextAt: 'next_at',
  createdAt: 'created_at',
  lastAt: 'last_at',
  lastError: 'last_error',
})
  .map(([key, column]) => `${column} as "${key}"`)
  .join(', ');

function toDelivery(row: StoredRow): Delivery {
  const decoded = decodeText(row);
  return { ...decoded, deliveryNo: Number(decoded.deliveryNo) } as unknown as Delivery;
}
