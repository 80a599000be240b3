import { toTraceId } from '../../ids.ts';
import type { FoundStart, QueuedStart, SerialQueue } from '../../journal/queue.ts';
import type { JournalRecord } from '../../journal/record.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { FINAL_STATUSES } from './queries.ts';
import { createdRun, decodeText, RUN_SELECT, toRunRow, toSelect, toStored } from './rows.ts';
import type { StoredRow, StoredValue } from './rows.ts';
import type { Statements } from './statements.ts';
import type { Tables } from './tables.ts';
import { toStoredText } from './text.ts';

/** What is not part of a commit of runs. */
export function createSerialQueue({ tables, query, commit, now }: Statements): SerialQueue {
  const { runs, queue, keys } = tables;
  return {
    async list({ name }, { limit, after }) {
      const conditions = [...(name === undefined ? [] : ['name = ?']), ...(after ? [`(${TURN}) > (?, ?, ?)`] : [])];
      const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
      const place = after ? [after.readyAt ?? 0, -after.priority, after.queueNo] : [];
      const params = [...(name === undefined ? [] : [toStoredText(name)]), ...place, limit];
      const rows = await query(`select ${START_SELECT} from ${queue} ${where} order by ${TURN} limit ?`, params);
      return rows.map(toQueuedStart);
    },
    async remove(triggerId) {
      const id = toStoredText(triggerId);
      const [start] = await query(`select parent_run_id from ${queue} where trigger_id = ?`, [id]);
      if (!start) return false;
      const parent = start['parent_run_id'] ?? null;
      // A parent that waits for the start is signalled in the commit that drops it.
      await commit([
        [
          `update ${runs} set signals = signals + 1, wake_at = case when status = 'waiting' then ? else wake_at end
          where run_id = ? and exists (select 1 from ${queue} where trigger_id = ?)`,
          [await now(), parent, id],
        ],
        // That of a child stays: it is not started again.
        [`delete from ${keys} where start_id = ? and (kept_with is null or kept_with = start_id)`, [id]],
        [`delete from ${queue} where trigger_id = ?`, [id]],
      ]);
      // A start that got the lock meanwhile is a run, and stays one.
      const promoted = await query(`select run_id from ${runs} where trigger_id = ?`, [id]);
      return promoted.length === 0;
    },
    async find(triggerId) {
      const id = toStoredText(triggerId);
      const [queued] = await query(`select ${START_SELECT} from ${queue} where trigger_id = ?`, [id]);
      if (queued) return { queued: toQueuedStart(queued) };
      const [run] = await query(`select ${RUN_SELECT} from ${runs} where trigger_id = ?`, [id]);
      return run && { run: toRunRow(run) };
    },
    async listByTrigger(prefix, limit) {
      // All that begins with a text lies between it and the text with the highest letter behind it.
      const range = [toStoredText(prefix), `${toStoredText(prefix)}~`];
      const columns = `trigger_id as "triggerId", name as "name", attributes as "attributes", created_at as "createdAt"`;
      const of = (table: string, more: string) =>
        `select ${columns}, ${more} from ${table} where trigger_id >= ? and trigger_id < ?`;
      const rows = await query(
        `${of(queue, `null as "runId", 'queued' as "status"`)} union all ${of(runs, `run_id as "runId", status as "status"`)}
        order by 1 desc limit ?`,
        [...range, ...range, limit],
      );
      return rows.map(decodeText) as unknown as FoundStart[];
    },
    async findHolder(serialKey) {
      const [run] = await query(holderQuery(tables), [toStoredText(serialKey)]);
      return run && toRunRow(run);
    },
  };
}

/** Those that wait for a place, in the order they will get it, and then those that wait for a time. */
const TURN = `case when ready_at is null then 0 else ready_at end, -priority, queue_no`;

/** The unfinished run that has held a place of a lock for the longest. Parameter: its key. */
export function holderQuery({ runs }: Pick<Tables, 'runs'>): string {
  return `select ${RUN_SELECT} from ${runs} where serial_key = ? and status not in ${FINAL_STATUSES} order by run_id limit 1`;
}

/** The columns of `serial_queue` next to `queue_no`: all that makes the run once the start has the lock. */
export const QUEUE_COLUMNS = {
  triggerId: 'trigger_id',
  serialKey: 'serial_key',
  kind: 'kind',
  name: 'name',
  trigger: 'trigger',
  codeHash: 'code_hash',
  sessionId: 'session_id',
  parentRunId: 'parent_run_id',
  retryOf: 'retry_of',
  seed: 'seed',
  attributes: 'attributes',
  startedBy: 'started_by',
  timeoutMs: 'timeout_ms',
  closePolicy: 'close_policy',
  input: 'input',
  records: 'records',
  createdAt: 'created_at',
  limit: 'lock_limit',
  priority: 'priority',
  readyAt: 'ready_at',
  isReserved: 'is_reserved',
  throttle: 'throttle',
  debounceKey: 'debounce_key',
  debounceUntil: 'debounce_until',
} as const;

export const QUEUE_SELECT = toSelect(QUEUE_COLUMNS);

/** Why and since when a start queues. */
export interface QueuedAs {
  now: number;
  /** The time it waits for; null: it waits for its lock. */
  readyAt: number | null;
  /** Its throttle keeps `readyAt` for it. */
  isReserved: boolean;
}

/** The values of a start that queues, in the order of `QUEUE_COLUMNS`. One without a lock has the key '' and no place. */
export function toQueueValues(run: NewRun, { now, readyAt, isReserved }: QueuedAs): StoredValue[] {
  const { serial, timing, records } = run;
  const { throttle, debounce } = timing ?? {};
  return [
    timing?.triggerId ?? serial?.triggerId,
    serial?.key ?? '',
    run.kind,
    run.name,
    run.trigger,
    run.codeHash,
    run.sessionId,
    run.parentRunId,
    run.retryOf,
    run.seed,
    run.attributes,
    run.startedBy,
    run.timeoutMs,
    run.closePolicy,
    run.input,
    records && JSON.stringify(records),
    now,
    serial ? (serial.limit ?? 1) : 0,
    timing?.priority ?? 0,
    readyAt,
    Number(isReserved),
    throttle && JSON.stringify(throttle),
    debounce?.key,
    debounce?.timeoutMs === undefined ? null : now + debounce.timeoutMs,
  ].map(toStored);
}

/** The run a queued start becomes. `queued` has the columns of `QUEUE_SELECT`. */
export function toPromoted(queued: StoredRow, runId: string, now: number): { run: RunRow; records: JournalRecord[] } {
  const start = decodeText(queued) as unknown as Omit<NewRun, 'records' | 'durability'> & {
    triggerId: string;
    serialKey: string;
    limit: number;
    records: string | null;
  };
  const { triggerId, serialKey, limit } = start;
  const records = start.records === null ? [] : (JSON.parse(start.records) as JournalRecord[]);
  const serial = Number(limit) > 0 ? { serial: { key: serialKey, triggerId, whenTaken: 'queue' } as const } : {};
  const given = { ...start, runId, traceId: toTraceId(runId), ...serial, records, claim: null };
  return { run: createdRun(given, now, triggerId), records };
}

// --- internal ---

const START_SELECT = toSelect({
  triggerId: 'trigger_id',
  serialKey: 'serial_key',
  limit: 'lock_limit',
  name: 'name',
  trigger: 'trigger',
  input: 'input',
  parentRunId: 'parent_run_id',
  attributes: 'attributes',
  startedBy: 'started_by',
  priority: 'priority',
  readyAt: 'ready_at',
  throttle: 'throttle',
  debounceKey: 'debounce_key',
  createdAt: 'created_at',
  queueNo: 'queue_no',
});

function toQueuedStart(row: StoredRow): QueuedStart {
  const { serialKey, limit, throttle, debounceKey, ...start } = decodeText(row);
  const timed = debounceKey !== null ? 'debounce' : throttle !== null ? 'throttle' : 'delay';
  const lock = Number(limit) > 0 ? { serialKey, limit } : { serialKey: null, limit: null };
  return { ...start, ...lock, waitsFor: start.readyAt === null ? 'lock' : timed } as unknown as QueuedStart;
}
