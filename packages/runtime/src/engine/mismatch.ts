import type { CallHistory } from './call.ts';
import type { JournalRecord, StepKind } from './journal.ts';

/** Why a replay cannot go on: what the journal holds and what the code asked for instead. */
export interface Mismatch {
  message: string;
  recorded: string;
  called: string | null;
  call: number;
}

/** Compares a call with the journal; undefined: it is the same call, or a new one. */
export function mismatchOf(
  history: CallHistory | undefined,
  request: { kind: StepKind; stepId: string; digest: string },
): Mismatch | undefined {
  const record = history?.answer ?? history?.set ?? history?.retries[0];
  if (!record) return undefined;
  const { call, stepId } = record;
  if (stepId !== request.stepId || record.kind !== request.kind)
    return {
      message: `Call ${call} of this run was recorded as "${stepId}"; the code now calls "${request.stepId}".`,
      recorded: stepId,
      called: request.stepId,
      call,
    };
  if (record.digest !== request.digest)
    return {
      message: `Call ${call}, "${stepId}", was recorded with other arguments than the code passes now.`,
      recorded: stepId,
      called: request.stepId,
      call,
    };
  return undefined;
}

/** The journal answers a call the code did not make. */
export function undelivered(record: JournalRecord): Mismatch {
  return {
    message: `Call ${record.call} of this run was recorded as "${record.stepId}"; the code does not make it now.`,
    recorded: record.stepId,
    called: null,
    call: record.call,
  };
}
