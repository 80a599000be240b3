import type { JournalRecord } from '../../journal/record.ts';
import type { RunRow } from '../../journal/run.ts';
import type { NewRun } from '../../journal/starts.ts';
import { FINAL_STATUSES } from './queries.ts';
import { QUEUE_COLUMNS, QUEUE_SELECT, toPromoted, toQueueValues } from './queue.ts';
import type { QueuedAs } from './queue.ts';
import { RECORD_COLUMNS, RUN_COLUMNS, RUN_SELECT, toRunRow, toStored, toStoredRecord } from './rows.ts';
import { ask, askOne } from './script.ts';
import type { Dialect, Script } from './script.ts';
import { insertInto } from './statements.ts';
import { toStoredText } from './text.ts';

/**
 * The places of locks and the starts that wait for them. A lock has as many places as its limit says; a run holds one,
 * by its row, until it is final. Whoever may give a place away locks the lock's name first, and keeps it locked until
 * the transaction ends: so starts begin in the order of their commits, and no place is given twice.
 */
export interface Places {
  /** The name under which a lock is locked. */
  nameOf(key: string): string;
  /**
   * Starts that wait become runs while there are places, up to `max`, the one of the highest priority first and then the
   * oldest. `limit`: how many places there are; without it, as the newest of them says.
   */
  promote(key: string, how: { newRunId: () => string; now: number; max: number; limit?: number }): Script<RunRow[]>;
  /** A run, if there is a place for it; undefined where there is none, or others wait for it. */
  enter(run: NewRun, how: { row: RunRow; newRunId: () => string; now: number }): Script<RunRow | undefined>;
  /** The unfinished run that has held a place for the longest. */
  findHolder(key: string): Script<RunRow | undefined>;
  enqueue(run: NewRun, as: QueuedAs): Script<void>;
  /** A run without a lock. */
  insert(row: RunRow, records?: JournalRecord[]): Script<void>;
}

/** So many starts become runs at once. */
export const MOST_PROMOTED = 100;

/** `onLeft`: a lock, as stored, for which more starts wait than were promoted, though it may have places. */
export function createPlaces({ tables, lock }: Dialect, onLeft: (key: string) => void): Places {
  const { runs, queue, events } = tables;
  const isOpen = `status not in ${FINAL_STATUSES}`;
  const slots = `select slot from ${runs} where serial_key = ? and ${isOpen}`;
  const holder = `select ${RUN_SELECT} from ${runs} where serial_key = ? and ${isOpen} order by run_id limit 1`;
  const newest = `select lock_limit from ${queue} where serial_key = ? order by queue_no desc limit 1`;
  // A start that is being removed at this moment is passed over.
  const takeFirst = `
    delete from ${queue} where queue_no = (
      select queue_no from ${queue} where serial_key = ? and ready_at is null
      order by priority desc, queue_no limit 1 ${lock})
    returning ${QUEUE_SELECT}`;
  const insertQueued = insertInto(queue, Object.values(QUEUE_COLUMNS));
  const insertRun = insertInto(runs, [...Object.values(RUN_COLUMNS), 'slot']);
  const insertRecord = insertInto(events, ['run_id', ...Object.values(RECORD_COLUMNS)]);
  const runKeys = Object.keys(RUN_COLUMNS) as (keyof RunRow)[];

  function* insert(row: RunRow, records: JournalRecord[] = [], slot = 0): Script<void> {
    yield* ask(insertRun, ...runKeys.map((key) => toStored(row[key])), slot);
    const id = toStoredText(row.runId);
    for (const [seq, record] of records.entries()) yield* ask(insertRecord, id, ...toStoredRecord(record, seq));
  }

  function* readSlots(key: string): Script<Set<number>> {
    return new Set((yield* ask(slots, toStoredText(key))).map((row) => Number(row.slot)));
  }

  const promote: Places['promote'] = function* (key, { newRunId, now, max, limit: given }) {
    const stored = toStoredText(key);
    const limit = given ?? Number((yield* askOne(newest, stored))?.lock_limit ?? 0);
    const promoted: RunRow[] = [];
    if (limit === 0) return promoted;
    const taken = yield* readSlots(key);
    while (promoted.length < max && taken.size < limit) {
      const first = yield* askOne(takeFirst, stored);
      if (!first) break;
      const { run, records } = toPromoted(first, newRunId(), now);
      const slot = freeSlot(taken);
      yield* insert(run, records, slot);
      taken.add(slot);
      promoted.push(run);
    }
    if (max > 1 && promoted.length === max && taken.size < limit) onLeft(stored);
    return promoted;
  };

  return {
    nameOf: (key) => toStoredText(`${queue}:${key}`),
    promote,
    insert,
    *enter(run, { row, newRunId, now }) {
      const { key, limit = 1 } = run.serial as NonNullable<NewRun['serial']>;
      // A free place goes to the starts that wait before it goes to a new one.
      const before = yield* promote(key, { newRunId, now, max: MOST_PROMOTED, limit });
      if (before.length === MOST_PROMOTED) return undefined;
      const taken = yield* readSlots(key);
      if (taken.size >= limit) return undefined;
      yield* insert(row, run.records, freeSlot(taken));
      return row;
    },
    *findHolder(key) {
      const row = yield* askOne(holder, toStoredText(key));
      return row && toRunRow(row);
    },
    *enqueue(run, as) {
      yield* ask(insertQueued, ...toQueueValues(run, as));
    },
  };
}

// --- internal ---

function freeSlot(taken: ReadonlySet<number>): number {
  let slot = 0;
  while (taken.has(slot)) slot++;
  return slot;
}
