import type { Append, AppendResult } from '../../journal/appends.ts';
import type { RunRow } from '../../journal/run.ts';
import { isFinal } from '../../journal/run.ts';
import { toRunRow } from './rows.ts';
import type { StoredRow } from './rows.ts';

/** What the journal holds of a run whose append was refused. */
export interface Standing extends Pick<RunRow, 'status' | 'epoch' | 'seq' | 'output' | 'error' | 'parentRunId'> {
  /** The ids of the records at the positions the append is for, in order. */
  recordIds: string[];
}

/** Why an append changed nothing. Undefined standing: there is no such run. */
export function judgeRefusal(entry: Append, standing: Standing | undefined, at: number): AppendResult {
  if (!standing) return { outcome: 'fenced' };
  // First of all: our records are in the journal whatever happened to the run since.
  if (isRepeat(entry, standing)) return { outcome: 'appended', at };
  if (isFinal(standing.status)) return { outcome: 'final', status: standing.status };
  // A lower epoch than ours is a journal restored from an older copy: the run is not ours there either.
  if (standing.epoch !== entry.epoch) return { outcome: 'fenced' };
  return { outcome: 'conflict' };
}

/** The answer to an append that is in the journal. */
export function toAppended(at: number, refused: string[] = [], promoted?: RunRow): AppendResult {
  return {
    outcome: 'appended',
    at,
    ...(refused.length > 0 ? { refused } : {}),
    ...(promoted ? { promoted } : {}),
  };
}

/** From the columns of the run, as the database answers them. */
export function toStanding(run: StoredRow, recordIds: string[]): Standing {
  return { ...toRunRow(run), recordIds };
}

// --- internal ---

function isRepeat(entry: Append, standing: Standing): boolean {
  const { records } = entry;
  if (records.length === 0) return isRepeatedEnd(entry, standing);
  return records.every((record, index) => record.recordId === standing.recordIds[index]);
}

/** An end without records has no id to be known by; the run that ended exactly so at our epoch is ours. */
function isRepeatedEnd({ epoch, seq, patch }: Append, standing: Standing): boolean {
  if (!isFinal(standing.status) || standing.status !== patch.status) return false;
  if (standing.epoch !== epoch || standing.seq !== seq) return false;
  return (patch.output ?? null) === standing.output && (patch.error ?? null) === standing.error;
}
