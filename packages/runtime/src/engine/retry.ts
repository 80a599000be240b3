import type { JournalRecord } from './journal.ts';

/**
 * What a retry keeps of a failed run: everything but the call whose failure ended it, and what came after that call
 * was answered. With no failed call the body itself failed, and all answers are kept.
 */
export function keptRecords(records: readonly JournalRecord[]): JournalRecord[] {
  const failed = records.findLast((record) => record.event === 'failed');
  const kept = records.filter((record) => !failed || (record.call !== failed.call && record.seq < failed.seq));
  return kept.map((record, seq) => ({
    ...record,
    seq,
    recordId: isKept(record) ? record.recordId : KEPT + record.recordId,
  }));
}

/** The record was made by a run this one is a retry of. */
export function isKept({ recordId }: JournalRecord): boolean {
  return recordId.startsWith(KEPT);
}

// --- internal ---

/** No record id of the engine's own has a colon. */
const KEPT = 'kept:';
