import { firstOf } from '../call.ts';
import type { CallHistory, CallRecord, CallRequest } from '../call.ts';
import { mismatchOf } from '../mismatch.ts';
import type { Mismatch } from '../mismatch.ts';
import { isRef } from '../values/large-ref.ts';

/**
 * Compares a call with what the journal knows of it. `unread`: it is the one that is recorded but for its digest, and what
 * it was made with is in object storage. Undefined: it is the same call.
 * @param edit what the step is executed with in place of what the body passes, which counts for nothing then
 */
export function compareCall(
  history: CallHistory,
  request: CallRequest & { digest: string },
  edit: CallRecord | undefined,
): Mismatch | 'unread' | undefined {
  const record = firstOf(history);
  const named = edit ? { ...request, digest: record?.digest ?? request.digest } : request;
  return record && isRef(record.input) && isSameButForDigest(record, named) ? 'unread' : mismatchOf(history, named);
}

// --- internal ---

function isSameButForDigest(record: CallRecord, { kind, stepId, digest }: CallRequest & { digest: string }): boolean {
  return record.digest !== digest && record.stepId === stepId && record.kind === kind;
}
