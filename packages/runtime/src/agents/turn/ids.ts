import { createHash } from 'node:crypto';

/** The id of the n-th message, from 1, that a turn makes. */
export function messageIdOf(runId: string, n: number): string {
  return `msg_${runId.replaceAll('-', '')}_${n}`;
}

/** Whether it is one of those, or what the agent thought before one. */
export function isMessageOf(runId: string, id: string): boolean {
  return id.startsWith(`msg_${runId.replaceAll('-', '')}_`);
}

/** The id of the tool message that carries the result of a call. Some providers put thousands of characters into theirs. */
export function resultIdOf(callId: string): string {
  const short = callId.length <= LONGEST_ID ? callId : `call_${createHash('sha256').update(callId).digest('hex')}`;
  return `${short}-result`;
}

// --- internal ---

/** Ids of messages are kept in an index, which takes some 2,700 bytes. */
const LONGEST_ID = 256;
