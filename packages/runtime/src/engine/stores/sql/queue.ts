import { toTraceId } from '../../ids.ts';
import type { QueuedStart, SerialQueue } from '../../journal/queue.ts';
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
    async list({ name }, { limit }) {
      const where = name === undefined ? '' : 'where name = ?';
      const params = name === undefined ? [limit] : [toStoredText(name), limit];
      const rows = await query(`select ${START_SELECT} from ${queue} ${where} order by queue_no limit ?`, params);
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
        [`delete from ${keys} where start_id = ?`, [id]],
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
    async findHolder(serialKey) {
      const [run] = await query(holderQuery(tables), [toStoredText(serialKey)]);
      return run && toRunRow(run);
    },
  };
}

/** The unfinished run that has a lock. Parameter: its key. */
export function holderQuery({ runs }: Pick<Tables, 'runs'>): string {
  return `select ${RUN_SELECT} from ${runs} where serial_key = ? and status not in ${FINAL_STATUSES}`;
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
  input: 'input',
  records: 'records',
  createdAt: 'created_at',
} as const;

export const QUEUE_SELECT = toSelect(QUEUE_COLUMNS);

/** The values of a start that queues, in the order of `QUEUE_COLUMNS`. */
export function toQueueValues(run: NewRun, now: number): StoredValue[] {
  const { serial, records } = run;
  return [
    serial?.triggerId,
    serial?.key,
    run.kind,
    run.name,
    run.trigger,
    run.codeHash,
    run.sessionId,
    run.parentRunId,
    run.retryOf,
    run.seed,
    run.attributes,
    run.input,
    records && JSON.stringify(records),
    now,
  ].map(toStored);
}

/** The run a queued start becomes. `queued` has the columns of `QUEUE_SELECT`. */
export function toPromoted(queued: StoredRow, runId: string, now: number): { run: RunRow; records: JournalRecord[] } {
  const start = decodeText(queued) as unknown as Omit<NewRun, 'records' | 'durability'> & {
    triggerId: string;
    serialKey: string;
    records: string | null;
  };
  const { triggerId, serialKey } = start;
  const records = start.records === null ? [] : (JSON.parse(start.records) as JournalRecord[]);
  const serial = { key: serialKey, triggerId, whenTaken: 'queue' } as const;
  const given = { ...start, runId, traceId: toTraceId(runId), serial, records, claim: null };
  return { run: createdRun(given, now, triggerId), records };
}

// --- internal ---

const START_SELECT = toSelect({
  triggerId: 'trigger_id',
  serialKey: 'serial_key',
  name: 'name',
  trigger: 'trigger',
  input: 'input',
  parentRunId: 'parent_run_id',
  attributes: 'attributes',
  createdAt: 'created_at',
} satisfies Record<keyof QueuedStart, string>);

function toQueuedStart(row: StoredRow): QueuedStart {
  return decodeText(row) as unknown as QueuedStart;
}
