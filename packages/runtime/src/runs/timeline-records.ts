import type { Journal } from '../engine/journal.ts';
import type { JournalRecord } from '../engine/journal/record.ts';
import type { RunRow } from '../engine/journal/run.ts';

export interface TimelineRecords {
  records: JournalRecord[];
  /** Where the next answer goes on. */
  seq: number;
  /** False: they are of the calls alone that have a record behind the position that was asked for. */
  isWhole: boolean;
}

/**
 * The records of a run, or all records of those calls that have one from the position `after` on. A turn of an agent is
 * always read whole, as each of its calls is placed by those before it, and so is a run of which much has changed.
 */
export async function readTimelineRecords(
  journal: Pick<Journal, 'getRecords' | 'listRecords' | 'listCalls'>,
  { runId, kind }: Pick<RunRow, 'runId' | 'kind'>,
  after: number | undefined,
): Promise<TimelineRecords> {
  if (after !== undefined && kind !== 'agent') {
    const newer = await journal.listRecords(runId, { from: after, limit: MOST_NEWER });
    const calls = newer.map(({ call }) => call);
    const first = calls.reduce((least, call) => Math.min(least, call), Infinity);
    const count = calls.reduce((most, call) => Math.max(most, call), -1) - first + 1;
    const seq = (newer.at(-1)?.seq ?? after - 1) + 1;
    if (newer.length === 0) return { records: [], seq, isWhole: false };
    if (newer.length < MOST_NEWER && count <= MOST_CALLS)
      return { records: await journal.listCalls(runId, { after: first - 1, limit: count }), seq, isWhole: false };
  }
  const records = await journal.getRecords(runId);
  return { records, seq: (records.at(-1)?.seq ?? -1) + 1, isWhole: true };
}

// --- internal ---

const MOST_NEWER = 1_000;
/** From the first to the last that has changed. */
const MOST_CALLS = 2_000;
