import { parseWakeTime } from '../duration.ts';
import type { JournalRecord } from '../journal/record.ts';
import { decode, encode } from '../serialize.ts';

/**
 * What a retry keeps of a failed run: everything but the call whose failure ended it, and what came after that call
 * was answered. With no failed call the body itself failed, and all answers are kept. A wait that was not over begins
 * again: a sleep is slept whole, and a person has the whole time for a decision. `now` is the store's.
 */
export function keptRecords(records: readonly JournalRecord[], now: number): JournalRecord[] {
  const failed = records.findLast((record) => record.event === 'failed');
  const kept = records.filter((record) => !failed || (record.call !== failed.call && record.seq < failed.seq));
  const answered = new Set(kept.filter(isAnswer).map(({ call }) => call));
  return kept
    .filter((record) => !isTimer(record) || answered.has(record.call))
    .map((record, seq) => ({
      ...record,
      output: isTimed(record) && !answered.has(record.call + 1) ? renewed(record, now) : record.output,
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

interface OpenedHook {
  token: string;
  expiresAt: number | null;
}

function isAnswer({ event }: JournalRecord): boolean {
  return event === 'done' || event === 'failed';
}

/** The record that set the timer of a wait; a hook that was made has one of the same event. */
function isTimer({ event, output }: JournalRecord): boolean {
  return event === 'set' && output !== null && typeof decode(output) === 'number';
}

/** A hook that was made for one wait, which is the call after it, with a deadline. */
function isTimed({ event, output }: JournalRecord): boolean {
  if (event !== 'set' || output === null) return false;
  return typeof (decode(output) as OpenedHook | null)?.expiresAt === 'number';
}

/** The same token: it may have been handed out. */
function renewed({ input, output }: JournalRecord, now: number): string | null {
  if (input === null || output === null) return output;
  const { timeout } = decode(input) as { timeout?: number | string | Date };
  if (timeout === undefined) return output;
  return encode({ ...(decode(output) as OpenedHook), expiresAt: parseWakeTime(timeout, now) }, 'token');
}
