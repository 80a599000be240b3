import { readCancel } from '../journal/cancel.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { RunRow } from '../journal/run.ts';
import { isEdit } from './edited-step.ts';
import { isForOneWait, toKept } from './retried-run.ts';

export interface Fork {
  run: Pick<RunRow, 'status' | 'error' | 'cancel'>;
  /** The first call of the body that is executed again. */
  call: number;
  /** The store's. */
  now: number;
  /** The starts of its body that the fork makes again: runs, and places in a queue. */
  lost: ReadonlySet<string>;
  /** The step at `call` has other arguments than an edit that the source may have of it. */
  isEdited?: boolean;
}

/**
 * What a fork takes of its source: what was recorded of the calls before the one it is forked from. Of work (steps, model calls,
 * tools, children) every result, also of what ended after that call had begun: it is done. What came from outside (a time, a
 * resume) counts only where it came before: for the fork it is still to come. A wait that was not over begins again, and so
 * does a step that was under way.
 */
export function forkedRecords(records: readonly JournalRecord[], fork: Fork): JournalRecord[] {
  const { run, call, now, lost, isEdited } = fork;
  const { seq: firstSeq, at: begunAt } = beginningOf(records, call);
  const isBefore = ({ seq, at }: JournalRecord): boolean => seq < firstSeq && at <= begunAt;
  const cancelled = new Set([readCancel(run)?.error, run.status === 'cancelled' ? run.error : undefined]);
  const kept = records.filter((record) => {
    if (record.kind === 'env') return isBefore(record);
    if (isEdit(record)) return record.call < call || (record.call === call && !isEdited);
    if (record.call >= call) return false;
    // What a cancel has answered it with is no answer of its own.
    if (record.event === 'failed' && record.error !== null && cancelled.has(record.error)) return false;
    return record.event === 'set' || record.event === 'retry' || WORK.has(record.kind) || isBefore(record);
  });
  const answered = new Set(
    kept.flatMap(({ event, call: one }) => (event === 'done' || event === 'failed' ? [one] : [])),
  );
  // A step that was to be attempted again is started again.
  return toKept(
    kept.filter(({ event, call: one }) => event !== 'retry' || answered.has(one)),
    { now, lost },
  );
}

/** Where a call is in its history, and when it began. What has no record comes after all. */
export function beginningOf(records: readonly JournalRecord[], call: number): { seq: number; at: number } {
  const beginning = { seq: Infinity, at: Infinity };
  for (const record of records) {
    if (record.call !== call || record.kind === 'env' || isEdit(record)) continue;
    beginning.seq = Math.min(beginning.seq, record.seq);
    beginning.at = Math.min(beginning.at, record.startedAt);
  }
  return beginning;
}

/** The call a fork begins with: an approval is asked for again, rather than waited for by a link that is the source's. */
export function firstCallOf(records: readonly JournalRecord[], call: number): number {
  return records.some((record) => record.call === call - 1 && isForOneWait(record)) ? call - 1 : call;
}

// --- internal ---

const WORK: ReadonlySet<string> = new Set(['step', 'model', 'tool', 'child']);
