import { parseWakeTime } from '../duration.ts';
import type { JournalRecord } from '../journal/record.ts';
import { decode, decodeInert, encode } from '../serialize.ts';
import { isEdit } from './edited-step.ts';

/**
 * What a retry keeps of a failed run: everything but the call whose failure ended it, and what was begun after that.
 * Where a child run has failed, its start goes too, so that it is started again. Where no call's failure ended the run,
 * the body itself has failed, and all answers are kept, those that failed and were caught too. A wait that was not over
 * begins again: a sleep is slept whole, and a person has the whole time for a decision.
 */
export function keptRecords(
  records: readonly JournalRecord[],
  { error, now, lost, ending }: RetriedRun,
): JournalRecord[] {
  const failed = findEnding(records, error);
  const start = failed && findStart(records, ending ?? endedRunOf(failed));
  const first = start ?? failed;
  const kept = records.filter((record) => {
    // What a cancel has answered it with is no answer of its own.
    if (record.event === 'failed' && record.error !== null && record.error === error) return false;
    // What it is executed with stays what someone has chosen.
    if (!failed || !first || isEdit(record)) return true;
    // What was under way when it failed is not for the failure; what came after it may be.
    return record.call !== first.call && record.call !== failed.call && isBefore(record, failed);
  });
  return toKept(kept, { now, lost });
}

/** Records of another run, as one begins with them: without the starts of what is lost, and with waits that begin again. */
export function toKept(
  records: readonly JournalRecord[],
  { now, lost }: Pick<RetriedRun, 'now' | 'lost'>,
): JournalRecord[] {
  const isLost = (record: JournalRecord): boolean => lost.size > 0 && lost.has(startedBy(record)?.id ?? '');
  const kept = records.filter((record) => !isLost(record));
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

export interface RetriedRun {
  /** What ended it, as it is recorded. */
  error: string | null;
  /** The store's. */
  now: number;
  /** Of what it had started, the runs and queued starts that ended with it: the retry starts them again. */
  lost: ReadonlySet<string>;
  /** The start whose failure ended it, where its id is not that of the run that failed. */
  ending?: string | undefined;
}

/** A start of the body. `id`: of the run, or of the place in the queue. */
export interface Started {
  id: string;
  isQueued: boolean;
  closePolicy: unknown;
}

/** `endedRuns`: those whose failure the body was given. */
export function listStarted(records: readonly JournalRecord[]): { started: Started[]; endedRuns: ReadonlySet<string> } {
  const started = records.flatMap((record) => {
    const start = startedBy(record);
    return start ? { ...start, closePolicy: closePolicyOf(record) } : [];
  });
  return { started, endedRuns: new Set(records.flatMap((record) => endedRunOf(record) ?? [])) };
}

/** The child run whose failure ended the run, if one's did. */
export function endingChildOf(records: readonly JournalRecord[], error: string | null): string | undefined {
  const ending = findEnding(records, error);
  return ending && endedRunOf(ending);
}

/** The steps a failed run completed after the failure that ended it, such as compensations: a retry keeps none of them. */
export function listAfterFailure(records: readonly JournalRecord[], kept: readonly JournalRecord[]): string[] {
  const calls = new Set(kept.map(({ call }) => call));
  const after = records.filter(({ kind, event, call }) => kind === 'step' && event === 'done' && !calls.has(call));
  return after.map(({ stepId }) => stepId.slice(stepId.lastIndexOf('#') + 1));
}

/** Of the record of a hook that was made: its token. Undefined: it is none. */
export function openedToken({ kind, event, stepId, output }: JournalRecord): string | undefined {
  if (kind !== 'hook' || event !== 'set' || output === null || stepId.startsWith('await ')) return undefined;
  return (decode(output) as OpenedHook).token;
}

/** A hook that was made for one wait, which is the call after it: an approval, or what has a deadline. */
export function isForOneWait(record: JournalRecord): boolean {
  return record.event === 'set' && (record.stepId === 'approval' || isTimed(record));
}

/** What the ids of such records begin with. No record id of the engine's own has a colon. */
export const KEPT = 'kept:';

/** The record was made by a run this one is a retry, or a fork, of. */
export function isKept({ recordId }: JournalRecord): boolean {
  return recordId.startsWith(KEPT);
}

// --- internal ---

/** The failure that ended the run: what the body threw is it, or has it as a cause. */
function findEnding(records: readonly JournalRecord[], error: string | null): JournalRecord | undefined {
  const thrown = error === null ? [] : causesOf(decodeInert(error));
  return records.findLast((record) => {
    if (record.event !== 'failed' || record.error === null) return false;
    const own = decodeInert(record.error) as InertError;
    return thrown.some(
      ({ name, message, stack }) => name === own.name && message === own.message && isStackOf(stack, own.stack),
    );
  });
}

/** The body is given an error with more of a stack than is recorded where it leads to no code of the workspace. */
function isStackOf(thrown: unknown, recorded: unknown): boolean {
  return thrown === recorded || (typeof thrown === 'string' && thrown.startsWith(`${String(recorded)}\n`));
}

type StartedAs = Pick<Started, 'id' | 'isQueued'>;

interface InertError {
  name?: unknown;
  message?: unknown;
  stack?: unknown;
  cause?: unknown;
  errors?: unknown;
}

/** An error, and those it was made of. */
function causesOf(value: unknown): InertError[] {
  const found = new Set<InertError>();
  const visit = (item: unknown): void => {
    if (typeof item !== 'object' || item === null || found.has(item)) return;
    found.add(item);
    const { cause, errors } = item as InertError;
    visit(cause);
    if (Array.isArray(errors)) errors.forEach(visit);
  };
  visit(value);
  return [...found];
}

/** Of a wait for a child that failed: the call that started it. */
function findStart(records: readonly JournalRecord[], id: string | undefined): JournalRecord | undefined {
  return id === undefined ? undefined : records.find((record) => startedBy(record)?.id === id);
}

/** Of the start of a child: what it was answered. */
function startedBy({ kind, event, stepId, output }: JournalRecord): StartedAs | undefined {
  if (kind !== 'child' || event !== 'done' || output === null || !stepId.startsWith('start ')) return undefined;
  const { runId, triggerId } = (decodeInert(output) ?? {}) as { runId?: unknown; triggerId?: unknown };
  const id = runId ?? triggerId;
  return typeof id === 'string' ? { id, isQueued: id !== runId } : undefined;
}

function closePolicyOf({ input }: JournalRecord): unknown {
  const { options } = (input === null ? {} : decodeInert(input)) as { options?: { parentClosePolicy?: unknown } };
  return options?.parentClosePolicy;
}

/** Of a wait for a child that failed: that one. */
function endedRunOf({ kind, event, error }: JournalRecord): string | undefined {
  if (kind !== 'child' || event !== 'failed' || error === null) return undefined;
  const { props } = decodeInert(error) as { props?: { runId?: unknown } };
  return typeof props?.runId === 'string' ? props.runId : undefined;
}

function isBefore(record: JournalRecord, failed: JournalRecord): boolean {
  return record.seq < failed.seq || record.startedAt < failed.at;
}

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
