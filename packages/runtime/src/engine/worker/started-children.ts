import type { Journal } from '../journal.ts';
import { readCancel } from '../journal/cancel.ts';
import type { RunRow } from '../journal/run.ts';
import { isFinal } from '../journal/run.ts';
import type { JournalRecord } from '../journal/record.ts';
import type { LargeValues } from '../large-values.ts';
import { codeOfError } from '../run/outcome.ts';
import { endingChildOf, listStarted } from '../run/retried-run.ts';
import type { Started } from '../run/retried-run.ts';
import { decodeInert, encode } from '../serialize.ts';
import { isRef } from '../values/large-ref.ts';

/** What a retry has to know of the children that the body of a run has started. */
export interface StartedChildren {
  /**
   * Ids of runs and of queued starts, as the starts have them, that ended because the run did, or are about to. One whose
   * end the body was given is not among them, nor is one that was cancelled by itself before the run ended.
   */
  lost: ReadonlySet<string>;
  /** The start of the child whose failure ended the run, where the run that failed has another id: it was queued, or has continued. */
  ending: string | undefined;
}

export async function readStartedChildren(
  { getLastRun, queue, whole }: Pick<Journal, 'getLastRun' | 'queue'> & Pick<LargeValues, 'whole'>,
  run: RunRow,
  given: readonly JournalRecord[],
): Promise<StartedChildren> {
  const lost = new Set<string>();
  let ending: string | undefined;
  const end = endOfTree(run);
  const records = await withStarts(given, whole);
  const { started, endedRuns } = listStarted(records);
  const endingRun = endingChildOf(records, run.error);
  const isKnown = endingRun === undefined || started.some(({ id }) => id === endingRun);
  // A run that ended by itself takes along what its policies say.
  if (end === undefined && run.closesChildren === null && isKnown) return { lost, ending };
  const lastRunOf = toLastRunOf({ getLastRun, queue });
  for (const start of started) {
    const child = await lastRunOf(start);
    if (child?.runId === endingRun) ending = start.id;
    const isTaken = end !== undefined || start.closePolicy === 'cancel';
    if (start.closePolicy === 'abandon' || (child && endedRuns.has(child.runId))) continue;
    // Dropped from the queue with the run, or deleted since.
    const isDropped = start.isQueued && isTaken && !child && !(await queue.find(start.id));
    if (isDropped || (child && hasGoneAlong(child, end))) lost.add(start.id);
  }
  return { lost, ending };
}

/**
 * Of the starts whose end is not recorded, those whose runs go on, or queue: a run that forks this one has to start its own. A
 * child with the policy `abandon` is none of them.
 */
export async function listOpenStarts(
  { getLastRun, queue }: Pick<Journal, 'getLastRun' | 'queue'>,
  records: readonly JournalRecord[],
): Promise<string[]> {
  const { started, endedRuns } = listStarted(records);
  const lastRunOf = toLastRunOf({ getLastRun, queue });
  const open: string[] = [];
  for (const start of started) {
    if (start.closePolicy === 'abandon' || endedRuns.has(start.id)) continue;
    const child = await lastRunOf(start);
    const isQueued = !child && start.isQueued && (await queue.find(start.id)) !== undefined;
    if (isQueued || (child && !isFinal(child.status))) open.push(start.id);
  }
  return open;
}

/** When the run was ended with all below it. Undefined: it has ended by itself. */
export function endOfTree(run: RunRow): number | undefined {
  const cancel = readCancel(run);
  const isEndedFromOutside = run.status === 'cancelled' || codeOfError(run.error) === 'run_timeout';
  return cancel?.at ?? (isEndedFromOutside ? (run.endedAt ?? undefined) : undefined);
}

/** Whether a child ended, or is about to, because the run above it did. @param end of the run above */
export function hasGoneAlong(child: RunRow, end: number | undefined): boolean {
  const cancel = readCancel(child);
  const isEnding = child.status === 'cancelled' || (cancel !== undefined && !isFinal(child.status));
  if (!isEnding || child.closePolicy === 'abandon') return false;
  const at = cancel?.at ?? child.endedAt ?? 0;
  return GONE_ALONG.has(codeOfError(cancel?.error ?? child.error)) || (end !== undefined && at >= end);
}

// --- internal ---

function toLastRunOf({ getLastRun, queue }: Pick<Journal, 'getLastRun' | 'queue'>) {
  return async ({ id, isQueued }: Started): Promise<RunRow | undefined> => {
    const found = isQueued ? await queue.find(id) : undefined;
    const runId = found && 'run' in found ? found.run.runId : isQueued ? undefined : id;
    return runId === undefined ? undefined : getLastRun(runId);
  };
}

/** With how children were started: with a large input it is in object storage. */
async function withStarts(
  records: readonly JournalRecord[],
  whole: LargeValues['whole'],
): Promise<readonly JournalRecord[]> {
  const read: JournalRecord[] = [];
  for (const record of records) {
    const { kind, stepId, input } = record;
    if (kind !== 'child' || !stepId.startsWith('start ') || !isRef(input)) read.push(record);
    else read.push({ ...record, input: encode({ ...(decodeInert(await whole(input)) as object), input: null }, '') });
  }
  return read;
}

const GONE_ALONG: ReadonlySet<string | undefined> = new Set(['parent_ended', 'parent_cancelled']);
