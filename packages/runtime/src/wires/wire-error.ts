import { ERROR_STATUS } from '../errors.ts';
import { answerJson } from '../http/answer.ts';
import type { TurnEvent } from '../agents/events/turn-events.ts';

/** What a client is sent of a turn that failed. */
export interface TurnFailure extends Pick<Extract<TurnEvent, { type: 'error' }>, 'status' | 'code' | 'message'> {
  retryAfter?: number | undefined;
}

/** How a turn failed that this event ends. One that was cancelled has: sent as an answer, half of one would be taken for all of it. */
export function toFailure(event: TurnEvent | undefined): TurnFailure | undefined {
  if (event?.type === 'error') return event;
  return event?.type === 'finish' && event.reason === 'cancelled' ? CANCELLED : undefined;
}

/** Clients of the chat wires repeat 409 and 5xx, so an answer says not to unless it says when. */
export function answerWireError(status: number, body: object, headers: Record<string, string>): Response {
  const mayRepeat = (status === 429 || status === 503) && 'retry-after' in headers;
  return answerJson(status, body, mayRepeat ? headers : { ...headers, 'x-should-retry': 'false' });
}

export function toRetryAfter({ retryAfter }: TurnFailure): Record<string, string> {
  return retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
}

// --- internal ---

/** Not 409: some clients repeat that whatever is said about it, and would begin the turn again. */
const CANCELLED: TurnFailure = {
  status: ERROR_STATUS.run_cancelled,
  code: 'run_cancelled',
  message: 'The turn was cancelled before it was finished.',
};
