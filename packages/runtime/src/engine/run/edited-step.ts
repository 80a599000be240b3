import type { CallHistory, CallRecord, CallRequest } from '../call.ts';
import { newRecordId } from '../ids.ts';
import type { JournalRecord } from '../journal/record.ts';

// A fork may give one step other arguments than its body passes. They are a record of the step, before any of its own: so a
// replay has them, and a retry of the fork keeps them.

/** The record by which a step is executed with that input, whatever the body passes. */
export function editOf(
  step: Pick<JournalRecord, 'call' | 'kind' | 'stepId'>,
  input: string,
  now: number,
): JournalRecord {
  const { call, kind, stepId } = step;
  const none = { digest: '', output: null, error: null, tokens: null };
  return {
    ...none,
    seq: 0,
    call,
    kind,
    stepId,
    event: 'set',
    recordId: EDIT + newRecordId(),
    attempt: 1,
    input,
    startedAt: now,
    at: now,
  };
}

export function isEdit({ recordId }: Pick<JournalRecord, 'recordId'>): boolean {
  return recordId.startsWith(EDIT) || recordId.startsWith(`kept:${EDIT}`);
}

/** The edit of a call, if it has one. */
export function findEdit(history: CallHistory | undefined): (CallRecord & { input: string }) | undefined {
  const { set } = history ?? {};
  return set && set.input !== null && isEdit(set) ? { ...set, input: set.input } : undefined;
}

/** The step as it is executed: with the arguments of the edit. */
export function toEdited(request: CallRequest, { input, digest }: CallRecord & { input: string }) {
  const { kind, stepId, action } = request;
  const run = action.type === 'run' ? action.withInput?.(input) : undefined;
  return { kind, stepId, input, digest, action: action.type === 'run' && run ? { ...action, run } : action };
}

// --- internal ---

/** No record id of the engine's own has a colon. */
const EDIT = 'edit:';
